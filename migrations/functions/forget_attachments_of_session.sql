-- Deletes the attachments of a deleted session (src/conversations/attachments), by an index whatever the tables'
-- statistics say. A trigger instead of a foreign key: see messages.
create or replace function forget_attachments_of_session() returns trigger
  language plpgsql
as $$
begin
  delete from attachments where tenant_id = old.tenant_id and session_id = old.id;
  return null;
end
$$;

create or replace trigger forget_attachments after delete on sessions
  for each row execute function forget_attachments_of_session();
