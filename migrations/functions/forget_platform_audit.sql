-- Deletes some of the platform's audit entries older than `before` (src/tenancy/audit), as the owner: no role of the
-- application may delete entries otherwise. Entries of the last day are never deleted. Returns how many were deleted.
create or replace function forget_platform_audit(before timestamptz, rows_max int) returns bigint
  language sql security definer set search_path = pg_catalog, public, pg_temp
as $$
  with gone as (
    delete from public.platform_audit_entries where (recorded_at, id) in (
      select recorded_at, id from public.platform_audit_entries
      where recorded_at < least(before, now() - interval '1 day')
      order by recorded_at limit rows_max)
    returning 1
  )
  select count(*) from gone
$$;
revoke execute on function forget_platform_audit from public;
grant execute on function forget_platform_audit to troupe_directory;
