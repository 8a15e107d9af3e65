-- Ends attempts to send answers of many sessions in one call (src/automation/outbox), and begins the next answer of
-- each session. The first unfinished answer of a session begins for the caller when it is due and no older message of
-- the session runs. An answer that has used all its attempts, the last without a known end, ends as failed, and the
-- session is due to be looked at again. A row that names no attempt only looks at its session.
--
-- Returns `age_ms` for an attempt whose end moved its answer on (not when another process had taken the answer up),
-- `due_in_ms` for the first unfinished answer of a session, and that answer itself when it began.
create or replace function send_on_answers(
  tenants uuid[], sessions uuid[], claims uuid[], goes_on boolean[], ended uuid[], chunks int[], attempts int[],
  steps text[], pauses_ms bigint[], codes int[], errors text[], hold_ms bigint)
returns table (place bigint, age_ms double precision, due_in_ms double precision, id uuid, trigger_id uuid,
  execution_id uuid, key text, chunk int, chunk_total int, attempts_made int, sealed bytea, created_at timestamptz)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  -- The same number as attemptsMax in src/automation/outbox/retry.ts.
  attempts_max constant int := 5;
begin
  if array_remove(ended, null) <> '{}' then
    return query
      with given as materialized (
        select * from unnest(tenants, ended, chunks, attempts, steps, pauses_ms, codes, errors) with ordinality
          as given (tenant_id, delivery_id, chunk, attempt, step, pause_ms, code, error, position)
        where delivery_id is not null order by tenant_id, delivery_id
      ), closed as (
        update delivery_attempts a set status_code = g.code, error = g.error, finished_at = clock_timestamp()
        from given g
        where a.tenant_id = g.tenant_id and a.delivery_id = g.delivery_id and a.number = (
          select max(l.number) from delivery_attempts l
          where l.tenant_id = g.tenant_id and l.delivery_id = g.delivery_id and l.chunk = g.chunk
            and l.attempt = g.attempt)
      ), moved as (
        update deliveries d set
          status = case when g.step in ('chunk', 'again') then 'pending' else g.step end,
          finished_at = case when g.step in ('chunk', 'again') then null else clock_timestamp() end,
          chunk = case when g.step = 'chunk' then d.chunk + 1 else d.chunk end,
          attempts = case when g.step = 'chunk' then 0 else d.attempts end,
          claimed_by = case when g.step = 'chunk' then d.claimed_by end,
          due_at = case when g.step in ('chunk', 'again')
            then clock_timestamp() + g.pause_ms * interval '1 millisecond' else d.due_at end,
          last_status = g.code, last_error = g.error
        from given g
        where d.tenant_id = g.tenant_id and d.id = g.delivery_id and coalesce(d.status, '') = 'pending'
          and d.chunk = g.chunk and d.attempts = g.attempt
        returning g.position, d.tenant_id, d.execution_id, d.status, d.created_at
      ), shown as (
        select set_delivery_statuses(array_agg(tenant_id), array_agg(execution_id), array_agg(status)) as changed
        from moved where status <> 'pending' having count(*) > 0
      )
      select position, (extract(epoch from clock_timestamp() - created_at) * 1000)::double precision,
        null::double precision, null::uuid, null::uuid, null::uuid, null::text, null::int, null::int, null::int,
        null::bytea, null::timestamptz
      from moved
      union all
      -- No row: PostgreSQL calls the function only if the outer query reads its result.
      select null, null, null, null, null, null, null, null, null, null, null, null from shown where changed < 0;
  end if;

  -- Sees the changes above.
  return query
    with first as materialized (
      select g.position, g.claim, f.* from unnest(tenants, sessions, claims, goes_on) with ordinality
          as g (tenant_id, session_id, claim, goes_on, position)
        cross join lateral (
          select d.tenant_id, d.id, d.session_id, d.inbox_seq, d.due_at from deliveries d
          where d.session_id = g.session_id and d.status = 'pending' and (d.tenant_id = g.tenant_id) is true
          order by d.inbox_seq, d.seq limit 1) f
      where g.goes_on
    ), begun as (
      -- One update for begun and failed answers, so that rows are locked in the order of their keys.
      update deliveries d set
        status = case when d.attempts < attempts_max then 'pending' else 'delivery_failed' end,
        finished_at = case when d.attempts < attempts_max then null else clock_timestamp() end,
        attempts = case when d.attempts < attempts_max then d.attempts + 1 else d.attempts end,
        due_at = case when d.attempts < attempts_max
          then clock_timestamp() + hold_ms * interval '1 millisecond' else d.due_at end,
        claimed_by = nullif(current_setting('troupe.process', true), ''),
        last_status = case when d.attempts < attempts_max then d.last_status end,
        last_error = case when d.attempts < attempts_max then d.last_error
          else 'The last attempt to send it never came to an end.' end
      from (
        select * from first
        where due_at <= clock_timestamp() and (
          select i.seq from running_messages i where i.session_id = first.session_id
            and i.seq < first.inbox_seq and (i.tenant_id = first.tenant_id) is true
          order by i.seq limit 1) is null
        order by tenant_id, id
      ) as f
      where d.tenant_id = f.tenant_id and d.id = f.id and coalesce(d.status, '') = 'pending'
        and d.due_at <= clock_timestamp()
      returning f.position, f.claim, d.tenant_id, d.id, d.trigger_id, d.execution_id, d.key, d.chunk, d.chunk_total,
        d.attempts, d.sealed, d.created_at, d.status
    ), recorded as (
      insert into delivery_attempts (tenant_id, delivery_id, chunk, attempt, claim)
      select tenant_id, id, chunk, attempts, claim from begun where status = 'pending'
    ), given_up as (
      select set_delivery_statuses(array_agg(tenant_id), array_agg(execution_id), array_agg(status)) as changed
      from begun where status <> 'pending' having count(*) > 0
    )
    select position, null::double precision, null::double precision, id, trigger_id, execution_id, key, chunk,
      chunk_total, attempts, sealed, created_at
    from begun where status = 'pending'
    union all
    -- Begun by an earlier call whose outcome was lost.
    select f.position, null, null, d.id, d.trigger_id, d.execution_id, d.key, d.chunk, d.chunk_total, d.attempts,
      d.sealed, d.created_at
    from first f
      join delivery_attempts a on a.tenant_id = f.tenant_id and a.delivery_id = f.id
      join deliveries d on d.tenant_id = f.tenant_id and d.id = f.id
    where f.due_at > clock_timestamp() and a.claim = f.claim and a.finished_at is null and a.chunk = d.chunk
      and a.attempt = d.attempts
    union all
    select position, null, (extract(epoch from due_at - clock_timestamp()) * 1000)::double precision, null, null, null,
      null, null, null, null, null, null
    from first
    union all
    select null, null, null, null, null, null, null, null, null, null, null, null from given_up where changed < 0;
end $$;
