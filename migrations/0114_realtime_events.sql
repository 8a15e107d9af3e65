-- What the people of a tenant want to hear of at once. Rows are written in the transaction of what they report, and
-- removed after ten minutes.
create table realtime_events (
  tenant_id uuid not null references tenants (id) on delete cascade,
  -- Fixed by whoever reports, so that a repeated write reports once.
  id uuid not null,
  -- Of the change by which nodes hear of it: rises in the order of the commits, so that whoever has read up to a number
  -- has missed nothing before it.
  number bigint not null,
  type text not null,
  data jsonb not null,
  at timestamptz not null,
  primary key (tenant_id, id)
);
create unique index realtime_events_number on realtime_events (tenant_id, number);
create index realtime_events_at on realtime_events (at);

alter table realtime_events enable row level security;
alter table realtime_events force row level security;
grant select, insert on realtime_events to troupe_app;
create policy tenant on realtime_events to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
grant select, insert on realtime_events to troupe_writer;
create policy writer on realtime_events to troupe_writer using (true) with check (true);
-- Whoever removes what is old sees only that.
grant select, delete on realtime_events to troupe_directory;
create policy directory on realtime_events to troupe_directory using (at < now() - interval '10 minutes');

-- Other recorders of changes wait from here to the commit, so it is the last thing that a transaction does.
create function record_realtime_event(about uuid, event_id uuid, event_type text, event_data jsonb) returns bigint
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
