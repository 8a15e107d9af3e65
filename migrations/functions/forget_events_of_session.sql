-- Deletes the realtime events of a deleted session (src/conversations/realtime). A tenant has those of ten minutes.
create or replace function forget_events_of_session() returns trigger
  language plpgsql
as $$
begin
  delete from realtime_events where tenant_id = old.tenant_id and data ->> 'session_id' = old.id::text;
  return null;
end
$$;

create or replace trigger forget_events after delete on sessions
  for each row execute function forget_events_of_session();
