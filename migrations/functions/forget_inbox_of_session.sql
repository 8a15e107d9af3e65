-- Deletes the messages of a deleted session that no execution has received, and its buffer (src/automation/inbox).
create or replace function forget_inbox_of_session() returns trigger
  language plpgsql
as $$
begin
  -- A buffer that is being split moves its messages to another execution: the next statement sees them there.
  perform from trigger_inbox
    where tenant_id = old.tenant_id and session_id = old.id and state = 'running' and sealed = ''
    order by trigger_id, key for update;
  -- The parts of flushed buffers; the row that runs them has no payload.
  delete from trigger_inbox where tenant_id = old.tenant_id and state = 'merged' and execution_id = any(array(
    select execution_id from trigger_inbox
    where tenant_id = old.tenant_id and session_id = old.id and state = 'running' and sealed = ''));
  delete from trigger_inbox where tenant_id = old.tenant_id and session_id = old.id and state = 'running';
  delete from trigger_inbox where tenant_id = old.tenant_id and session_id = old.id and state = 'buffered';
  delete from trigger_windows where tenant_id = old.tenant_id and session_id = old.id;
  return null;
end
$$;

create or replace trigger forget_inbox after delete on sessions
  for each row execute function forget_inbox_of_session();
