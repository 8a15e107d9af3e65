-- Deletes some of the audit entries of the transaction's tenant (src/tenancy/audit), of any age, if that tenant is being
-- deleted: no role of the application may delete entries otherwise. Returns how many were deleted.
create or replace function forget_audit_of_deleted(rows_max int) returns bigint
  language sql security definer set search_path = pg_catalog, public, pg_temp
as $$
  with gone as (
    delete from public.audit_entries where (tenant_id, recorded_at, id) in (
      select tenant_id, recorded_at, id from public.audit_entries
      where tenant_id = public.current_tenant()
        and exists (select from public.tenant_plans where tenant_id = public.current_tenant() and deleting)
      limit rows_max)
    returning 1
  )
  select count(*) from gone
$$;
revoke execute on function forget_audit_of_deleted from public;
grant execute on function forget_audit_of_deleted to troupe_app;
