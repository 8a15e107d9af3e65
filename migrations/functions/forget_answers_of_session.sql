-- Deletes the reply route of a deleted session, its waiting answers and its messages written by hand
-- (src/automation/outbox).
create or replace function forget_answers_of_session() returns trigger
  language plpgsql
as $$
begin
  delete from deliveries where tenant_id = old.tenant_id and session_id = old.id and execution_id is null;
  delete from deliveries where tenant_id = old.tenant_id and session_id = old.id and status = 'pending';
  delete from trigger_replies where tenant_id = old.tenant_id and session_id = old.id;
  return null;
end
$$;

create or replace trigger forget_answers after delete on sessions
  for each row execute function forget_answers_of_session();
