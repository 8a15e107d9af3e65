-- Records an event for the users of a tenant (src/conversations/realtime), together with the change that announces it.
-- From here to the commit other recorders of changes wait, so a transaction calls this last.
create or replace function record_realtime_event(about uuid, event_id uuid, event_type text, event_data jsonb) returns bigint
  language plpgsql
as $$
declare
  event_number bigint;
begin
  event_number := record_change('realtime', about, event_type);
  insert into realtime_events (tenant_id, id, number, type, data, at)
    values (about, event_id, event_number, event_type, event_data, clock_timestamp())
    on conflict (tenant_id, id) do nothing;
  return event_number;
end
$$;
revoke execute on function record_realtime_event from public;
grant execute on function record_realtime_event to troupe_app, troupe_writer;
