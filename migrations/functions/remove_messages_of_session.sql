-- Deletes the messages and the people of a deleted session (src/conversations/sessions), by the primary key whatever the tables'
-- statistics say. A trigger instead of a foreign key: see messages.
create or replace function remove_messages_of_session() returns trigger
  language plpgsql
as $$
begin
  delete from messages where tenant_id = old.tenant_id and session_id = old.id;
  delete from session_participants where tenant_id = old.tenant_id and session_id = old.id;
  return null;
end
$$;

create or replace trigger remove_messages after delete on sessions
  for each row execute function remove_messages_of_session();
