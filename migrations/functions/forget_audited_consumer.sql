-- Replaces the key of an erased consumer in the tenant's audit entries by its keyed hash (src/tenancy/audit). Reasons
-- that people wrote about the consumer, names and changed values go with the key.
create or replace function forget_audited_consumer(key text, hash text) returns void
  language sql security definer set search_path = pg_catalog, public, pg_temp
as $$
  update public.audit_entries set subject = 'consumer:' || hash, details = details - 'reason',
    target_name = null, changes = '{}'
    where tenant_id = public.current_tenant() and subject = left('consumer:' || key, 256)
$$;
revoke execute on function forget_audited_consumer from public;
grant execute on function forget_audited_consumer to troupe_app;
