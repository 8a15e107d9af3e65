-- What belongs to a session or an execution is written by the session's actor alone, under its fence, and never before
-- the row that it belongs to. The foreign keys checked that again for each row of each turn, and until the tables had
-- statistics PostgreSQL looked the execution up among all of its tenant: half of its work for a turn, and more with
-- each one. What they did at a removal stays.
alter table messages drop constraint messages_tenant_id_session_id_fkey;
alter table execution_steps drop constraint execution_steps_tenant_id_execution_id_fkey;
alter table execution_logs drop constraint execution_logs_tenant_id_execution_id_fkey;

-- By rows and keys, so that each is found by its index whatever the tables' statistics say.
create function remove_messages_of_session() returns trigger
  language plpgsql
as $$
begin
  delete from messages where tenant_id = old.tenant_id and session_id = old.id;
  return null;
end
$$;
create trigger remove_messages after delete on sessions
  for each row execute function remove_messages_of_session();

create function remove_parts_of_execution() returns trigger
  language plpgsql
as $$
begin
  delete from execution_steps where tenant_id = old.tenant_id and execution_id = old.id;
  delete from execution_logs where tenant_id = old.tenant_id and execution_id = old.id;
  return null;
end
$$;
create trigger remove_parts after delete on executions
  for each row execute function remove_parts_of_execution();
