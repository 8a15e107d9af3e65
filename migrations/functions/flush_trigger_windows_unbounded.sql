-- The overload of flush_trigger_windows without `most`: a flush takes every buffered message. Nothing in src/ calls it.
create or replace function flush_trigger_windows(
  tenants uuid[], triggers uuid[], sessions uuid[], executions uuid[], forced boolean[], hold_ms bigint, keep_ms bigint)
returns table (flush_id uuid, part_seq bigint, part bytea, place bigint, left_ms double precision)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare closed int[];
begin
  -- Locks in the order of the keys, as messages do. A message that this waited for is visible to the next statement.
  with gone as (
    delete from trigger_windows w
    using (
      select * from unnest(tenants, triggers, sessions, executions, forced) with ordinality
        as given (tenant_id, trigger_id, session_id, execution_id, forced, position)
      order by tenant_id, trigger_id, session_id
    ) as g
    where w.tenant_id = g.tenant_id and w.trigger_id = g.trigger_id and w.session_id = g.session_id
      and (g.forced or w.due_at <= clock_timestamp())
      and not exists (
        select from trigger_inbox r where r.tenant_id = g.tenant_id and r.trigger_id = g.trigger_id
          and r.key = 'buffer:' || g.execution_id::text)
    returning g.position
  )
  select coalesce(array_agg(position), '{}') into closed from gone;

  if closed <> '{}' then
    return query
      with merged as (
        update trigger_inbox i set state = 'merged', execution_id = executions[c.position]
        from unnest(closed) as c (position)
        where i.session_id = sessions[c.position] and i.state = 'buffered'
          and (i.tenant_id = tenants[c.position] and i.trigger_id = triggers[c.position]) is true
        returning c.position, i.seq, i.sealed
      ), begun as (
        insert into trigger_inbox (tenant_id, trigger_id, key, session_id, execution_id, state, payload_hash, sealed,
          attempts, due_at, expires_at)
        select tenants[position], triggers[position], 'buffer:' || executions[position], sessions[position],
          executions[position], 'running', '', '', 1, clock_timestamp() + hold_ms * interval '1 millisecond',
          clock_timestamp() + keep_ms * interval '1 millisecond'
        from (select distinct position from merged) as m
        on conflict (tenant_id, trigger_id, key) do nothing
        returning execution_id, seq
      )
      -- The row that runs comes before its parts.
      select execution_id, null::bigint, null::bytea, seq, null::double precision from begun
      union all select executions[position], seq, sealed, null, null from merged;
  end if;

  if cardinality(closed) < cardinality(sessions) then
    -- Flushed by an earlier call whose outcome was lost.
    return query
      select i.execution_id, i.seq, i.sealed, r.seq, null::double precision
      from unnest(tenants, triggers, executions) with ordinality as g (tenant_id, trigger_id, execution_id, position)
        join trigger_inbox r on r.tenant_id = g.tenant_id and r.trigger_id = g.trigger_id
          and r.key = 'buffer:' || g.execution_id::text
        join trigger_inbox i on i.tenant_id = g.tenant_id and i.execution_id = g.execution_id and i.state = 'merged'
      where g.position <> all(closed);
    -- Still open.
    return query
      select g.execution_id, null::bigint, null::bytea, null::bigint,
        (extract(epoch from w.due_at - clock_timestamp()) * 1000)::double precision
      from unnest(tenants, triggers, sessions, executions) with ordinality
          as g (tenant_id, trigger_id, session_id, execution_id, position)
        join trigger_windows w on w.tenant_id = g.tenant_id and w.trigger_id = g.trigger_id
          and w.session_id = g.session_id
      where g.position <> all(closed);
  end if;
end $$;
