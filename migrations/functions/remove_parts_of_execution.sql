-- Deletes the steps, the log and the approvals of a deleted execution (src/conversations/sessions), by the primary keys whatever the
-- tables' statistics say, and notes an execution of which something may still be recorded. A trigger instead of foreign keys: see messages.
create or replace function remove_parts_of_execution() returns trigger
  language plpgsql
as $$
begin
  delete from execution_steps where tenant_id = old.tenant_id and execution_id = old.id;
  delete from execution_logs where tenant_id = old.tenant_id and execution_id = old.id;
  delete from approvals where tenant_id = old.tenant_id and execution_id = old.id;
  if old.outcome is null then
    perform wait_for_calls_of_execution(old.id);
    insert into ended_by_erasure (tenant_id, id) values (old.tenant_id, old.id)
      on conflict (tenant_id, id) do update set only_previews = false;
  elsif old.finished_at > now() - interval '10 minutes' then
    -- The summary that follows a turn is recorded after the turn's end, and the answer to a trigger's message is put into
    -- the outbox then.
    perform wait_for_calls_of_execution(old.id);
    insert into ended_by_erasure (tenant_id, id) values (old.tenant_id, old.id)
      on conflict (tenant_id, id) do update set only_previews = false;
  end if;
  return null;
end
$$;

create or replace trigger remove_parts after delete on executions
  for each row execute function remove_parts_of_execution();
