-- Deletes the realtime events of a session from which a person is erased (src/conversations/realtime).
create or replace function forget_events_in_session(tenant uuid, session uuid) returns void
  language sql
as $$
  delete from realtime_events where tenant_id = tenant and data ->> 'session_id' = session::text
$$;
