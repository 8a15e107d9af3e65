-- The positions of polled sources: schedules, mailboxes and database tables (src/automation/sources). A poll writes its
-- findings to the inbox in the transaction that moves the position on.
create table trigger_sources (
  tenant_id uuid not null,
  trigger_id uuid not null,
  kind text not null check (kind in ('schedule', 'email', 'db_event')),
  state jsonb not null default '{}' check (jsonb_typeof(state) = 'object'),
  -- When to poll next; during a poll, when it must be over. Infinity for a disabled trigger.
  due_at timestamptz not null,
  -- The process whose poll `due_at` bounds; when it is surely gone, the claim is void. Null if no other process can tell
  -- when it has ended.
  claimed_by text,
  failures int not null default 0,
  last_error text,
  primary key (tenant_id, trigger_id),
  foreign key (tenant_id, trigger_id) references triggers (tenant_id, id) on delete cascade
);
create index trigger_sources_due on trigger_sources (due_at);

alter table trigger_sources enable row level security;
alter table trigger_sources force row level security;
grant select, insert, update, delete on trigger_sources to troupe_app;
create policy tenant on trigger_sources to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
grant select, update on trigger_sources to troupe_directory;
create policy directory on trigger_sources to troupe_directory using (true) with check (true);
