-- Deletes the messages of a deleted execution (src/automation/inbox).
create or replace function forget_inbox_of_execution() returns trigger
  language plpgsql
as $$
begin
  delete from trigger_inbox where tenant_id = old.tenant_id and execution_id = old.id;
  return null;
end
$$;

create or replace trigger forget_inbox after delete on executions
  for each row execute function forget_inbox_of_execution();
