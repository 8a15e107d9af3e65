-- Events that a tenant's users receive at once (src/conversations/realtime). record_realtime_event() writes a row in the
-- transaction of the change that it reports; rows are removed after ten minutes.
create table realtime_events (
  tenant_id uuid not null references tenants (id) on delete cascade,
  -- Fixed by the reporter, so that a repeated write reports once.
  id uuid not null,
  -- The number of the change that announces the event. It rises in the order of the commits: a reader that has read up to
  -- a number has missed no event before it.
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
grant select, insert, delete on realtime_events to troupe_app;
create policy tenant on realtime_events to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
grant select, insert, delete on realtime_events to troupe_writer;
create policy writer on realtime_events to troupe_writer using (true) with check (true);
-- The removal of old events sees old events only.
grant select, delete on realtime_events to troupe_directory;
create policy directory on realtime_events to troupe_directory using (at < now() - interval '10 minutes');
