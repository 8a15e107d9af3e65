-- Flushes many buffers of many tenants in one call (src/automation/inbox): deletes the windows that are over, full or
-- forced, merges the buffered messages of each into one execution, and adds the inbox row that runs it. That row
-- carries no payload: its parts do. An execution takes at most `most` messages (all, when forced), and of more than
-- three messages only the first that have 2 MiB together, or the first alone; the rest begin the next window. The caller fixes the execution ids: a repeated call, after a lost outcome, takes nothing more and
-- returns the same.
--
-- A plpgsql function, since each statement sees what was committed before it began. A single statement would miss a
-- message that was accepted while it waited for the window's row.
--
-- Two statements flush a buffer when all buffers of a call are over, and their plans are kept. Plans made while the
-- tables were empty serve too, because only the intended index can answer: the message's tenant and trigger are compared
-- in a form that no index answers. Otherwise a plan that reads all messages of a trigger, or builds a bitmap of them per
-- buffer, takes seconds with a hundred thousand of them.
create or replace function flush_trigger_windows(
  tenants uuid[], triggers uuid[], sessions uuid[], executions uuid[], forced boolean[], most int[],
  hold_ms bigint, keep_ms bigint)
returns table (flush_id uuid, part_seq bigint, part bytea, place bigint, left_ms double precision)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  -- Far more than a model reads in a turn, and little enough for the memory of a process that has many.
  bytes_max constant int := 2 * 1024 * 1024;
  -- So many are small enough by the limits of each, and most buffers have no more: only larger ones are measured.
  unmeasured constant int := 3;
  closed int[];
  -- Those of more messages than one execution may take, or than are left unmeasured.
  large int[];
  limits int[];
  dues timestamptz[];
  looks timestamptz[];
  overfull int[] := '{}';
  -- The last message that runs now, of each overfull buffer.
  lasts bigint[] := '{}';
  spot int;
  nth int := 0;
  present int;
  taken int;
  newest bigint;
begin
  -- Locks in the order of the keys, as messages do. A message that this waited for is visible to the next statement.
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
    returning g.position, case when g.forced then w.messages else g.most end as most, w.messages, w.due_at, w.look_at
  ), measured as (
    select * from gone where messages > least(most, unmeasured)
  )
  select (select coalesce(array_agg(position), '{}') from gone), coalesce(array_agg(position), '{}'), array_agg(most),
    array_agg(due_at), array_agg(look_at)
  into closed, large, limits, dues, looks from measured;

  foreach spot in array large loop
    nth := nth + 1;
    select count(*), count(*) filter (where fits), max(seq) filter (where fits) into present, taken, newest from (
      select seq, row_number() over buffer = 1 or row_number() over buffer <= limits[nth]
          and sum(octet_length(sealed)) over buffer <= bytes_max as fits
      from trigger_inbox i
      where i.session_id = sessions[spot] and i.state = 'buffered'
        and (i.tenant_id = tenants[spot] and i.trigger_id = triggers[spot]) is true
      window buffer as (order by seq)) as first;
    if taken < present then
      overfull := overfull || spot;
      lasts[spot] := newest;
      -- No other transaction can have inserted the row: it waits until the deletion of the old one commits.
      insert into trigger_windows (tenant_id, trigger_id, session_id, messages, due_at, look_at)
      values (tenants[spot], triggers[spot], sessions[spot], present - taken, dues[nth], looks[nth]);
    end if;
  end loop;

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
    -- Flushed by an earlier call whose outcome was lost.
    return query
      select i.execution_id, i.seq, i.sealed, r.seq, null::double precision
      from unnest(tenants, triggers, executions) with ordinality as g (tenant_id, trigger_id, execution_id, position)
        join trigger_inbox r on r.tenant_id = g.tenant_id and r.trigger_id = g.trigger_id
          and r.key = 'buffer:' || g.execution_id::text
        join trigger_inbox i on i.tenant_id = g.tenant_id and i.execution_id = g.execution_id and i.state = 'merged'
      where g.position <> all(closed);
    -- Still open, or open again. A full window is due at once. A window opened after an earlier call is left to the node
    -- that accepted its message.
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
