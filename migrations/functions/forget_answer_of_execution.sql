-- Deletes the answer of a deleted execution with its attempts (src/automation/outbox).
create or replace function forget_answer_of_execution() returns trigger
  language plpgsql
as $$
begin
  delete from deliveries where tenant_id = old.tenant_id and execution_id = old.id;
  return null;
end
$$;

create or replace trigger forget_answer after delete on executions
  for each row execute function forget_answer_of_execution();
