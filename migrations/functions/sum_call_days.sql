-- Adds up the hours of the tenant's next days (src/models/usage), at most `days_max` of them and none that ended less than
-- two days ago, and returns how many days it went on. Concurrent calls take turns on the row of `summed_days`, and so do
-- late hours, which add_late_hour() adds once their day is summed.
create or replace function sum_call_days(days_max int) returns int
  language plpgsql
as $$
declare
  tenant constant uuid := current_tenant();
  -- A transaction would have to run for a day to write an hour before this time without add_late_hour().
  settled constant timestamptz := date_trunc('day', now(), 'UTC') - interval '48 hours';
  since timestamptz;
  until timestamptz;
begin
  insert into summed_days values (tenant, '-infinity') on conflict do nothing;
  select summed_to into since from summed_days where tenant_id = tenant for update;
  -- Days without calls cost nothing.
  select date_trunc('day', min(hour), 'UTC') into since from call_hours
  where tenant_id = tenant and hour >= since and hour < settled;
  if since is null then
    update summed_days set summed_to = settled where tenant_id = tenant and summed_to < settled;
    return 0;
  end if;
  until := least(settled, since + make_interval(hours => 24 * days_max));
  insert into call_days
  select tenant, date_trunc('day', hour, 'UTC'), agent_id, provider, model, call_source, status, failure, sum(calls),
    sum(vendor_calls), sum(input_tokens), sum(output_tokens), sum(cost), sum(response_time_ms), sum(latency),
    sum(cache_hits), sum(cached_tokens), sum(cache_creation_tokens), sum(fallbacks)
  from call_hours where tenant_id = tenant and hour >= since and hour < until and calls > 0
  group by 2, 3, 4, 5, 6, 7, 8;
  insert into ledger_days
  select tenant, date_trunc('day', hour, 'UTC'), agent_id, key_id, user_id, model, call_source, payer, sum(ledger_calls),
    sum(ledger_input_tokens), sum(ledger_output_tokens), sum(ledger_cost)
  from call_hours where tenant_id = tenant and hour >= since and hour < until and payer <> 'none'
  group by 2, 3, 4, 5, 6, 7, 8;
  insert into hour_totals
  select tenant, hour, sum(calls), sum(input_tokens + output_tokens), sum(cost)
  from call_hours where tenant_id = tenant and hour >= since and hour < until and calls > 0
  group by 2;
  update summed_days set summed_to = until where tenant_id = tenant;
  return extract(epoch from until - since) / 86400;
end
$$;
revoke execute on function sum_call_days(int) from public;
grant execute on function sum_call_days(int) to troupe_app;
