-- Deletes some of the tenant's keys that were revoked before `before` (src/tenancy/keys), as the owner: no role of the
-- application may delete keys otherwise. Of a key that was used the name stays, because reports name it. Keys revoked
-- within the last day are never deleted. Returns how many were deleted.
create or replace function forget_keys(before timestamptz, rows_max int) returns bigint
  language sql security definer set search_path = pg_catalog, public, pg_temp
as $$
  with gone as (
    delete from public.api_keys where (tenant_id, id) in (
      select tenant_id, id from public.api_keys
      where tenant_id = public.current_tenant() and revoked_at < least(before, now() - interval '1 day')
      order by revoked_at limit rows_max)
    returning tenant_id, id, name
  ), use as (
    delete from public.api_key_use u using gone
    where u.tenant_id = gone.tenant_id and u.key_id = gone.id
    returning u.key_id, u.total_requests
  ), named as (
    insert into public.ended_key_names (tenant_id, key_id, name)
    select gone.tenant_id, gone.id, gone.name from gone join use on use.key_id = gone.id
    where use.total_requests > 0
  )
  select count(*) from gone
$$;
revoke execute on function forget_keys from public;
grant execute on function forget_keys to troupe_app;
