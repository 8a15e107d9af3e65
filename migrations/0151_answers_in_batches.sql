-- The end of a message and the ends of attempts to send its answer are written in batches of many tenants, as its
-- acceptance is: each was a transaction or two of its own, which cost more than all that came before them.
grant select, insert, update on deliveries, delivery_attempts to troupe_writer;
create policy writer on deliveries to troupe_writer using (true) with check (true);
create policy writer on delivery_attempts to troupe_writer using (true) with check (true);

-- Who began the attempt, fixed before the first try: a batch whose outcome was lost is written again, and its caller
-- must know an attempt that is its own from one of somebody else. Null for one that was begun alone.
alter table delivery_attempts add column claim uuid;

-- A session's line, and what of it runs, begin with the session: beside an index by tenant and time a kept plan could
-- take that one instead, and read all that the tenant has waiting for each session of a batch.
drop index deliveries_line;
create index deliveries_line on deliveries (session_id, inbox_seq, seq) where status = 'pending';
drop index trigger_inbox_session;
create index trigger_inbox_session on trigger_inbox (session_id, seq) where state = 'running';

-- Ends many messages of many tenants in one call: each is done, the way back to its sender is remembered, and its answer
-- is put out. Where that is the first of its session and may be sent now, its first attempt begins with it, for the
-- caller alone, who fixed the ids of the answers: a call that is made again says once more what is the caller's.
--
-- Answers `begun` for what was put out, `waits` for a message without an answer behind which others may go on.
create function finish_trigger_messages(
  tenants uuid[], triggers uuid[], sessions uuid[], keys text[], kept jsonb[], replies_at int[], replies_bytes int[],
  mails text[], threads text[], answers uuid[], executions uuid[], places bigint[], chunks int[], cut boolean[],
  contents_at int[], contents_bytes int[], may_begin boolean[], pieces bytea, hold_ms bigint)
returns table (answer_id uuid, begun boolean, answer_created_at timestamptz, waits bigint)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare told bigint;
begin
  -- In the order of their keys, as every batch locks them. The state is asked for in a form that no partial index answers.
  update trigger_inbox i set state = 'done', answer = coalesce(g.kept, i.answer)
  from (
    select * from unnest(tenants, triggers, keys, kept) as given (tenant_id, trigger_id, key, kept)
    where key is not null order by tenant_id, trigger_id, key
  ) as g
  where i.tenant_id = g.tenant_id and i.trigger_id = g.trigger_id and i.key = g.key
    and coalesce(i.state, '') = 'running';

  if array_remove(mails, null) <> '{}' then
    insert into trigger_mails (tenant_id, trigger_id, message_id, thread)
    select tenant_id, trigger_id, message_id, thread
    from unnest(tenants, triggers, mails, threads) as g (tenant_id, trigger_id, message_id, thread)
    where message_id is not null order by tenant_id, trigger_id, message_id
    on conflict do nothing;
  end if;

  -- What was done above is seen here, with all that others had committed before this began.
  return query
    with given as materialized (
      -- In its order: a plan made for an empty table would else read the list of all that wait as readily as the line.
      select g.*, coalesce((
          select true from deliveries d where d.session_id = g.session_id and d.status = 'pending'
            and (d.inbox_seq <= g.place or g.place is null) and (d.tenant_id = g.tenant_id) is true
          order by d.inbox_seq, d.seq limit 1), false) as meets_others
      from unnest(tenants, triggers, sessions, replies_at, replies_bytes, answers, executions, places, chunks, cut,
        contents_at, contents_bytes, may_begin) with ordinality
        as g (tenant_id, trigger_id, session_id, reply_at, reply_bytes, id, execution_id, place, chunks, cut, content_at,
          content_bytes, may_begin, position)
    ), remembered as (
      insert into trigger_replies (tenant_id, session_id, trigger_id, sealed)
      select distinct on (tenant_id, session_id) tenant_id, session_id, trigger_id,
        substring(pieces from reply_at for reply_bytes)
      from given where reply_bytes > 0 order by tenant_id, session_id, position desc
      on conflict (tenant_id, session_id) do update
        set trigger_id = excluded.trigger_id, sealed = excluded.sealed, updated_at = now()
    ), first as (
      select *, may_begin and not meets_others
          and row_number() over (partition by tenant_id, session_id order by place) = 1
          and (
            select i.seq from trigger_inbox i where i.session_id = given.session_id and i.state = 'running'
              and i.seq < given.place and (i.tenant_id = given.tenant_id) is true
            order by i.seq limit 1) is null as begins
      from given where id is not null
    ), put as (
      insert into deliveries (tenant_id, id, session_id, trigger_id, execution_id, key, inbox_seq, chunk_total, truncated,
        sealed, attempts, due_at)
      select tenant_id, id, session_id, trigger_id, execution_id, execution_id::text, place, chunks, cut,
        substring(pieces from content_at for content_bytes), begins::int,
        clock_timestamp() + case when begins then hold_ms else 0 end * interval '1 millisecond'
      -- Of two that end the same message the one that begins its answer comes first: the other's would be nobody's to send.
      from first order by tenant_id, first.execution_id, begins desc
      on conflict do nothing
      returning tenant_id, id, execution_id, attempts, created_at
    ), recorded as (
      insert into delivery_attempts (tenant_id, delivery_id, chunk, attempt, claim)
      select tenant_id, id, 1, 1, id from put where attempts = 1
    ), shown as (
      update executions e set delivery_status = 'pending' from put p
      where e.tenant_id = p.tenant_id and e.id = p.execution_id
    )
    select id, attempts = 1, created_at, null::bigint from put
    union all
    select null, null, null, case when meets_others then position end from given where id is null;
  get diagnostics told = row_count;

  if told < cardinality(tenants) then
    -- Begun by an earlier call whose outcome was lost. What is another's, a twin's or somebody's who took it up since,
    -- has an attempt of another claim.
    return query
      select d.id, true, d.created_at, null::bigint
      from unnest(tenants, answers) as g (tenant_id, id)
        join deliveries d on d.tenant_id = g.tenant_id and d.id = g.id
        join delivery_attempts a on a.tenant_id = d.tenant_id and a.delivery_id = d.id
      where coalesce(d.status, '') = 'pending' and d.chunk = 1 and d.attempts = 1
        and a.chunk = 1 and a.attempt = 1 and a.claim = d.id and a.finished_at is null;
  end if;
end $$;

-- Ends attempts to send answers of many sessions in one call, and says how each session's line goes on: its first answer
-- that is not over is begun for the caller when it is due and no older message of the session runs; else when that may
-- be. One that has had all its attempts, of which the last was never told the end of, is ended instead, and the line is
-- due to be looked at again. Nothing for a line in which nothing waits. Where no attempt is named the line is looked at
-- alone.
--
-- Answers `age_ms` for an attempt whose end moved its answer on (not for one that somebody else had taken up meanwhile),
-- `due_in_ms` for the first of a line, and that answer itself where it was begun.
create function send_on_answers(
  tenants uuid[], sessions uuid[], claims uuid[], goes_on boolean[], ended uuid[], chunks int[], attempts int[],
  steps text[], pauses_ms bigint[], codes int[], errors text[], hold_ms bigint)
returns table (place bigint, age_ms double precision, due_in_ms double precision, id uuid, trigger_id uuid,
  execution_id uuid, key text, chunk int, chunk_total int, attempts_made int, sealed bytea, created_at timestamptz)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  -- As many as a receiver that answers 503 gets, see src/triggers/deliveries/retry.ts.
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
          due_at = case when g.step in ('chunk', 'again')
            then clock_timestamp() + g.pause_ms * interval '1 millisecond' else d.due_at end,
          last_status = g.code, last_error = g.error
        from given g
        where d.tenant_id = g.tenant_id and d.id = g.delivery_id and coalesce(d.status, '') = 'pending'
          and d.chunk = g.chunk and d.attempts = g.attempt
        returning g.position, d.tenant_id, d.execution_id, d.status, d.created_at
      ), shown as (
        update executions e set delivery_status = m.status from moved m
        where e.tenant_id = m.tenant_id and e.id = m.execution_id and m.status <> 'pending'
      )
      select position, (extract(epoch from clock_timestamp() - created_at) * 1000)::double precision,
        null::double precision, null::uuid, null::uuid, null::uuid, null::text, null::int, null::int, null::int,
        null::bytea, null::timestamptz
      from moved;
  end if;

  -- What was moved on above is seen here.
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
      -- One update for both, so that rows are locked in the order of their keys.
      update deliveries d set
        status = case when d.attempts < attempts_max then 'pending' else 'delivery_failed' end,
        finished_at = case when d.attempts < attempts_max then null else clock_timestamp() end,
        attempts = case when d.attempts < attempts_max then d.attempts + 1 else d.attempts end,
        due_at = case when d.attempts < attempts_max
          then clock_timestamp() + hold_ms * interval '1 millisecond' else d.due_at end,
        last_status = case when d.attempts < attempts_max then d.last_status end,
        last_error = case when d.attempts < attempts_max then d.last_error
          else 'The last attempt to send it never came to an end.' end
      from (
        select * from first
        where due_at <= clock_timestamp() and (
          select i.seq from trigger_inbox i where i.session_id = first.session_id and i.state = 'running'
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
      update executions e set delivery_status = b.status from begun b
      where e.tenant_id = b.tenant_id and e.id = b.execution_id and b.status <> 'pending'
    )
    select position, null::double precision, null::double precision, id, trigger_id, execution_id, key, chunk,
      chunk_total, attempts, sealed, created_at
    from begun where status = 'pending'
    union all
    -- By an earlier call whose outcome was lost.
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
    from first;
end $$;
