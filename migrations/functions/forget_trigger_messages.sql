-- Deletes the inbox messages and windows of a deleted tenant (src/automation/inbox). A trigger instead of foreign keys:
-- a key would be checked for each accepted message.
create or replace function forget_trigger_messages() returns trigger language plpgsql as $$
declare before text := coalesce(current_setting('troupe.tenant_id', true), '');
begin
  -- Row-level security binds the owner too.
  perform set_config('troupe.tenant_id', old.id::text, true);
  delete from trigger_inbox where tenant_id = old.id;
  delete from trigger_windows where tenant_id = old.id;
  perform set_config('troupe.tenant_id', before, true);
  return null;
end $$;

create or replace trigger forget_trigger_messages after delete on tenants
  for each row execute function forget_trigger_messages();
