-- Sets the delivery status of many tenants' executions (src/conversations/sessions), in the transaction that changes the
-- deliveries. Rows without an execution, of messages written by hand, are left out. Returns the number of changed rows.
create or replace function set_delivery_statuses(tenants uuid[], ids uuid[], statuses text[]) returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare changed bigint;
begin
  update executions e set delivery_status = g.status
  from (
    select * from unnest(tenants, ids, statuses) as given (tenant_id, id, status)
    where given.id is not null order by given.tenant_id, given.id
  ) as g
  where e.tenant_id = g.tenant_id and e.id = g.id;
  get diagnostics changed = row_count;
  return changed;
end $$;
