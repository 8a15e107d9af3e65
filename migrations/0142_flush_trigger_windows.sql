-- Flushes many buffers of many tenants in one call: takes away the windows that are over (or must end now), makes what
-- waited in each the parts of one execution, and adds the row that runs. That row holds nothing itself: its message is
-- its parts'. The ids of the executions are fixed by the caller, so that a call whose outcome was lost is made again and
-- answers the same.
--
-- A function, since each of its statements sees what was committed before it began. In one statement a message that was
-- accepted while the window's row was waited for would be left behind: it is newer than what the statement sees.
create function flush_trigger_windows(
  tenants uuid[], triggers uuid[], sessions uuid[], executions uuid[], forced boolean[], hold_ms bigint, keep_ms bigint)
returns table (flush_id uuid, part_seq bigint, part bytea, place bigint, left_ms double precision)
language plpgsql
-- Each row is found by its index, whatever the tables held when they were analysed last: a plan that reads all messages
-- of a trigger, or makes a bitmap of them for each buffer, takes seconds with a hundred thousand of them.
set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare closed uuid[];
begin
  -- In the order of their keys, as messages lock them.
  perform from trigger_windows w
    join unnest(tenants, triggers, sessions) as g (tenant_id, trigger_id, session_id)
      using (tenant_id, trigger_id, session_id)
    order by tenant_id, trigger_id, session_id for update of w;

  with gone as (
    delete from trigger_windows w
    using unnest(tenants, triggers, sessions, executions, forced)
      as g (tenant_id, trigger_id, session_id, execution_id, forced)
    where (w.tenant_id, w.trigger_id, w.session_id) = (g.tenant_id, g.trigger_id, g.session_id)
      and (g.forced or w.due_at <= clock_timestamp())
    returning g.execution_id
  )
  select coalesce(array_agg(execution_id), '{}') into closed from gone;

  if closed <> '{}' then
    update trigger_inbox i set state = 'merged', execution_id = g.execution_id
    from unnest(tenants, triggers, sessions, executions) as g (tenant_id, trigger_id, session_id, execution_id)
    where g.execution_id = any(closed) and i.session_id = g.session_id and i.state = 'buffered'
      -- In a form that no index answers: without statistics the key of tenant and trigger, which all their messages
      -- share, looks narrower than the session.
      and (i.tenant_id = g.tenant_id and i.trigger_id = g.trigger_id) is true;

    insert into trigger_inbox (tenant_id, trigger_id, key, session_id, execution_id, state, payload_hash, sealed,
      attempts, due_at, expires_at)
    select tenant_id, trigger_id, 'buffer:' || execution_id, session_id, execution_id, 'running', '', '', 1,
      clock_timestamp() + hold_ms * interval '1 millisecond', clock_timestamp() + keep_ms * interval '1 millisecond'
    from unnest(tenants, triggers, sessions, executions) as g (tenant_id, trigger_id, session_id, execution_id)
    where execution_id = any(closed) and exists (
      select from trigger_inbox i
      where i.tenant_id = g.tenant_id and i.execution_id = g.execution_id and i.state = 'merged')
    on conflict (tenant_id, trigger_id, key) do nothing;
  end if;

  return query
    select i.execution_id, i.seq, i.sealed, r.seq, null::double precision
    from unnest(tenants, triggers, executions) as g (tenant_id, trigger_id, execution_id)
      join trigger_inbox r on (r.tenant_id, r.trigger_id, r.key)
        = (g.tenant_id, g.trigger_id, 'buffer:' || g.execution_id::text)
      join trigger_inbox i on i.tenant_id = g.tenant_id and i.execution_id = g.execution_id and i.state = 'merged';
  return query
    select g.execution_id, null::bigint, null::bytea, null::bigint,
      (extract(epoch from w.due_at - clock_timestamp()) * 1000)::double precision
    from trigger_windows w
      join unnest(tenants, triggers, sessions, executions) as g (tenant_id, trigger_id, session_id, execution_id)
        on (w.tenant_id, w.trigger_id, w.session_id) = (g.tenant_id, g.trigger_id, g.session_id)
    where g.execution_id <> all(closed);
end $$;
grant delete on trigger_windows to troupe_writer;
