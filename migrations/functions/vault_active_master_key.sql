-- Returns the active master key and locks it until the caller commits (src/tenancy/vault). A rotation that begins now
-- waits for the caller's new data key and then wraps it too; without the lock that key could stay under the former
-- master key.
create or replace function vault_active_master_key() returns text
  language plpgsql security definer set search_path = pg_catalog, public, pg_temp
as $$
declare
  found_id text;
begin
  for attempt in 1..10 loop
    select id into found_id from public.vault_master_keys where active for share;
    exit when found_id is not null;
  end loop;
  return found_id;
end
$$;
revoke execute on function vault_active_master_key from public;
grant execute on function vault_active_master_key to troupe_app, troupe_directory;
