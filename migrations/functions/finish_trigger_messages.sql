-- Ends many inbox messages of many tenants in one call (src/automation/outbox): marks each as done, stores the reply
-- route of its session and puts its answer into the outbox. When the answer is the first of its session and may be sent
-- now, its first attempt begins in the same call, for this caller alone. The caller fixes the ids of the answers: a
-- repeated call, after a lost outcome, returns the caller's answers again.
--
-- Returns `begun` for each new answer, and `waits` for a message without an answer whose session has others to send.
create or replace function finish_trigger_messages(
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
  perform mark_messages_done(tenants, triggers, keys, kept);
  if array_remove(mails, null) <> '{}' then
    perform note_trigger_mails(tenants, triggers, mails, threads);
  end if;

  -- Sees the changes above and all that others committed before this statement began.
  return query
    with given as materialized (
      -- The order selects the index: a plan made for an empty table could read all pending answers of the tenant instead.
      select g.*, coalesce((
          select true from deliveries d where d.session_id = g.session_id and d.status = 'pending'
            and (d.inbox_seq <= g.place or g.place is null) and (d.tenant_id = g.tenant_id) is true
          order by d.inbox_seq, d.seq limit 1), false) as meets_others
      from unnest(tenants, triggers, sessions, replies_at, replies_bytes, answers, executions, places, chunks, cut,
        contents_at, contents_bytes, may_begin) with ordinality
        as g (tenant_id, trigger_id, session_id, reply_at, reply_bytes, id, execution_id, place, chunks, cut, content_at,
          content_bytes, may_begin, position)
      -- Nothing is kept or sent for an execution that was erased.
      where not exists (select from erased_executions e where e.tenant_id = g.tenant_id and e.id = g.execution_id)
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
            select i.seq from running_messages i where i.session_id = given.session_id
              and i.seq < given.place and (i.tenant_id = given.tenant_id) is true
            order by i.seq limit 1) is null as begins
      from given where id is not null
    ), put as (
      insert into deliveries (tenant_id, id, session_id, trigger_id, execution_id, key, inbox_seq, chunk_total, truncated,
        sealed, attempts, due_at)
      select tenant_id, id, session_id, trigger_id, execution_id, execution_id::text, place, chunks, cut,
        substring(pieces from content_at for content_bytes), begins::int,
        clock_timestamp() + case when begins then hold_ms else 0 end * interval '1 millisecond'
      -- When two rows end one message, the row that begins its answer comes first; otherwise no process would send it.
      from first order by tenant_id, first.execution_id, begins desc
      on conflict do nothing
      returning tenant_id, id, execution_id, attempts, created_at
    ), recorded as (
      insert into delivery_attempts (tenant_id, delivery_id, chunk, attempt, claim)
      select tenant_id, id, 1, 1, id from put where attempts = 1
    ), shown as (
      select set_delivery_statuses(array_agg(tenant_id), array_agg(execution_id), array_agg('pending'::text)) as changed
      from put having count(*) > 0
    )
    select id, attempts = 1, created_at, null::bigint from put
    union all
    select null, null, null, case when meets_others then position end from given where id is null
    union all
    -- No row: PostgreSQL calls the function only if the outer query reads its result.
    select null, null, null, null from shown where changed < 0;
  get diagnostics told = row_count;

  if told < cardinality(tenants) then
    -- Begun by an earlier call whose outcome was lost. An answer that another process began or took up since has an
    -- attempt with another claim.
    return query
      select d.id, true, d.created_at, null::bigint
      from unnest(tenants, answers) as g (tenant_id, id)
        join deliveries d on d.tenant_id = g.tenant_id and d.id = g.id
        join delivery_attempts a on a.tenant_id = d.tenant_id and a.delivery_id = d.id
      where coalesce(d.status, '') = 'pending' and d.chunk = 1 and d.attempts = 1
        and a.chunk = 1 and a.attempt = 1 and a.claim = d.id and a.finished_at is null;
  end if;
end $$;
