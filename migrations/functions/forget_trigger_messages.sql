-- Deletes the inbox messages and windows of a deleted tenant (src/automation/inbox). A trigger instead of foreign keys:
-- a key would be checked for each accepted message. As the owner: the role that deletes tenants may delete no windows.
create or replace function forget_trigger_messages() returns trigger
  language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare before text := coalesce(current_setting('troupe.tenant_id', true), '');
begin
  -- Row-level security binds the owner too.
  perform set_config('troupe.tenant_id', old.id::text, true);
  delete from public.trigger_inbox where tenant_id = old.id;
  delete from public.trigger_windows where tenant_id = old.id;
  perform set_config('troupe.tenant_id', before, true);
  return null;
end $$;
revoke execute on function forget_trigger_messages from public;

create or replace trigger forget_trigger_messages after delete on tenants
  for each row execute function forget_trigger_messages();
