-- Deletes some of the actors' fences of the transaction's tenant (cluster/fencing), if that tenant is being deleted. An
-- activation without its fence can write nothing. Returns how many were deleted.
create or replace function forget_fences(rows_max int) returns bigint
  language sql security definer set search_path = pg_catalog, public, pg_temp
as $$
  with gone as (
    delete from public.actors where (tenant_id, kind, key) in (
      select tenant_id, kind, key from public.actors
      where tenant_id = public.current_tenant()
        and exists (select from public.tenant_plans where tenant_id = public.current_tenant() and deleting)
      limit rows_max)
    returning 1
  )
  select count(*) from gone
$$;
revoke execute on function forget_fences from public;
grant execute on function forget_fences to troupe_app;
