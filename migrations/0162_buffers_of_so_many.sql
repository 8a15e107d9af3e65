-- A buffer becomes no execution of more messages than its trigger asks for. Messages that come at once, or while it is
-- flushed, used to go with the others; now the first so many run, and the rest is the beginning of the next window.
-- Nodes of the version before call the function of seven arguments.
create function flush_trigger_windows(
  tenants uuid[], triggers uuid[], sessions uuid[], executions uuid[], forced boolean[], most int[],
  hold_ms bigint, keep_ms bigint)
returns table (flush_id uuid, part_seq bigint, part bytea, place bigint, left_ms double precision)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  closed int[];
  overfull int[];
  rests int[];
  dues timestamptz[];
  looks timestamptz[];
  -- Of an overfull one, the last message that runs now.
  lasts bigint[] := '{}';
  spot int;
begin
  -- In the order of their keys, as messages lock them. Who waited here for a message sees it in the next statement.
  with gone as (
    delete from trigger_windows w
    using (
      select * from unnest(tenants, triggers, sessions, executions, forced, most) with ordinality
        as given (tenant_id, trigger_id, session_id, execution_id, forced, most, position)
      order by tenant_id, trigger_id, session_id
    ) as g
    where w.tenant_id = g.tenant_id and w.trigger_id = g.trigger_id and w.session_id = g.session_id
      and (g.forced or w.messages >= g.most or w.due_at <= clock_timestamp())
      and not exists (
        select from trigger_inbox r where r.tenant_id = g.tenant_id and r.trigger_id = g.trigger_id
          and r.key = 'buffer:' || g.execution_id::text)
    returning g.position, case when g.forced then 0 else w.messages - g.most end as rest, w.due_at, w.look_at
  )
  select coalesce(array_agg(position), '{}'), coalesce(array_agg(position) filter (where rest > 0), '{}'),
    array_agg(rest) filter (where rest > 0), array_agg(due_at) filter (where rest > 0),
    array_agg(look_at) filter (where rest > 0)
  into closed, overfull, rests, dues, looks from gone;

  if overfull <> '{}' then
    -- Nobody else can have put a row there: whoever wants to waits for the end of the one that was deleted.
    insert into trigger_windows (tenant_id, trigger_id, session_id, messages, due_at, look_at)
    select tenants[position], triggers[position], sessions[position], rest, due_at, look_at
    from unnest(overfull, rests, dues, looks) as o (position, rest, due_at, look_at);
    foreach spot in array overfull loop
      lasts[spot] := (
        select max(seq) from (
          select seq from trigger_inbox i
          where i.session_id = sessions[spot] and i.state = 'buffered'
            and (i.tenant_id = tenants[spot] and i.trigger_id = triggers[spot]) is true
          order by seq limit most[spot]) as first);
    end loop;
  end if;

  if closed <> '{}' then
    return query
      with merged as (
        update trigger_inbox i set state = 'merged', execution_id = executions[c.position]
        from unnest(closed) as c (position)
        where i.session_id = sessions[c.position] and i.state = 'buffered'
          and (i.tenant_id = tenants[c.position] and i.trigger_id = triggers[c.position]) is true
          and (lasts[c.position] is null or i.seq <= lasts[c.position])
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

  if cardinality(closed) < cardinality(sessions) or overfull <> '{}' then
    -- Made by an earlier call whose outcome was lost.
    return query
      select i.execution_id, i.seq, i.sealed, r.seq, null::double precision
      from unnest(tenants, triggers, executions) with ordinality as g (tenant_id, trigger_id, execution_id, position)
        join trigger_inbox r on r.tenant_id = g.tenant_id and r.trigger_id = g.trigger_id
          and r.key = 'buffer:' || g.execution_id::text
        join trigger_inbox i on i.tenant_id = g.tenant_id and i.execution_id = g.execution_id and i.state = 'merged'
      where g.position <> all(closed);
    -- Still open, or open again. What is full already waits for nothing; but whoever put a message into a new window after
    -- an earlier call looks after that window.
    return query
      select g.execution_id, null::bigint, null::bytea, null::bigint,
        case when w.messages >= g.most then 0
          else (extract(epoch from w.due_at - clock_timestamp()) * 1000)::double precision end
      from unnest(tenants, triggers, sessions, executions, most) with ordinality
          as g (tenant_id, trigger_id, session_id, execution_id, most, position)
        join trigger_windows w on w.tenant_id = g.tenant_id and w.trigger_id = g.trigger_id
          and w.session_id = g.session_id
      where g.position = any(overfull) or g.position <> all(closed) and (w.messages >= g.most or not exists (
        select from trigger_inbox r where r.tenant_id = g.tenant_id and r.trigger_id = g.trigger_id
          and r.key = 'buffer:' || g.execution_id::text));
  end if;
end $$;
