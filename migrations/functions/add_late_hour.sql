-- Adds a change of an hour whose day is summed already to the sums of that day (src/models/usage): an attempt that is closed
-- after days, a call that is found unrecorded. Runs for hours older than a day only, so that calls of the moment pay
-- nothing. The lock orders it against sum_call_days(), which sums either with this hour or before it; and since one
-- writer at a time adds to a tenant's days, no two wait for each other.
create or replace function add_late_hour() returns trigger
  language plpgsql
as $$
declare
  summed timestamptz;
  its_day constant timestamptz := date_trunc('day', new.hour, 'UTC');
begin
  insert into summed_days values (new.tenant_id, '-infinity') on conflict do nothing;
  select summed_to into summed from summed_days where tenant_id = new.tenant_id for update;
  if new.hour >= summed then
    return null;
  end if;
  if tg_op = 'UPDATE' then
    new.calls := new.calls - old.calls;
    new.vendor_calls := new.vendor_calls - old.vendor_calls;
    new.input_tokens := new.input_tokens - old.input_tokens;
    new.output_tokens := new.output_tokens - old.output_tokens;
    new.cost := new.cost - old.cost;
    new.response_time_ms := new.response_time_ms - old.response_time_ms;
    new.latency := new.latency - old.latency;
    new.cache_hits := new.cache_hits - old.cache_hits;
    new.cached_tokens := new.cached_tokens - old.cached_tokens;
    new.cache_creation_tokens := new.cache_creation_tokens - old.cache_creation_tokens;
    new.fallbacks := new.fallbacks - old.fallbacks;
    new.ledger_calls := new.ledger_calls - old.ledger_calls;
    new.ledger_input_tokens := new.ledger_input_tokens - old.ledger_input_tokens;
    new.ledger_output_tokens := new.ledger_output_tokens - old.ledger_output_tokens;
    new.ledger_cost := new.ledger_cost - old.ledger_cost;
  end if;
  if new.calls > 0 then
    insert into call_days as d
    values (new.tenant_id, its_day, new.agent_id, new.provider, new.model, new.call_source, new.status, new.failure,
      new.calls, new.vendor_calls, new.input_tokens, new.output_tokens, new.cost, new.response_time_ms, new.latency,
      new.cache_hits, new.cached_tokens, new.cache_creation_tokens, new.fallbacks)
    on conflict (tenant_id, day, agent_id, provider, model, call_source, status, failure) do update set
      calls = d.calls + excluded.calls, vendor_calls = d.vendor_calls + excluded.vendor_calls,
      input_tokens = d.input_tokens + excluded.input_tokens, output_tokens = d.output_tokens + excluded.output_tokens,
      cost = d.cost + excluded.cost, response_time_ms = d.response_time_ms + excluded.response_time_ms,
      latency = d.latency + excluded.latency, cache_hits = d.cache_hits + excluded.cache_hits,
      cached_tokens = d.cached_tokens + excluded.cached_tokens,
      cache_creation_tokens = d.cache_creation_tokens + excluded.cache_creation_tokens,
      fallbacks = d.fallbacks + excluded.fallbacks;
    insert into hour_totals as t
    values (new.tenant_id, new.hour, new.calls, new.input_tokens + new.output_tokens, new.cost)
    on conflict (tenant_id, hour) do update set
      calls = t.calls + excluded.calls, tokens = t.tokens + excluded.tokens, cost = t.cost + excluded.cost;
  end if;
  if new.payer <> 'none' then
    insert into ledger_days as d
    values (new.tenant_id, its_day, new.agent_id, new.key_id, new.user_id, new.model, new.call_source, new.payer,
      new.ledger_calls, new.ledger_input_tokens, new.ledger_output_tokens, new.ledger_cost)
    on conflict (tenant_id, day, agent_id, key_id, user_id, model, call_source, payer) do update set
      calls = d.calls + excluded.calls, input_tokens = d.input_tokens + excluded.input_tokens,
      output_tokens = d.output_tokens + excluded.output_tokens, cost = d.cost + excluded.cost;
  end if;
  return null;
end
$$;

create or replace trigger add_late_hour after insert or update on call_hours
  for each row when (new.hour < now() - interval '24 hours') execute function add_late_hour();
