-- The audit log (src/tenancy/audit). An entry is written in the transaction of the action that it records: neither exists
-- without the other. Entries are only added; no role of the application may change or delete one.
--
-- No foreign key to tenants or users: an entry outlives its subject.

create table audit_entries (
  tenant_id uuid not null,
  recorded_at timestamptz not null default clock_timestamp(),
  id uuid not null default gen_random_uuid(),
  actor text not null check (length(actor) between 1 and 256),
  action text not null check (action ~ '^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)+$' and length(action) <= 64),
  subject text not null check (length(subject) <= 256),
  details jsonb not null default '{}'::jsonb check (jsonb_typeof(details) = 'object'),
  primary key (tenant_id, recorded_at, id)
);

alter table audit_entries enable row level security;
alter table audit_entries force row level security;

grant select, insert on audit_entries to troupe_app;
create policy tenant on audit_entries to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

-- The directory's role records its actions on a tenant (a sign-up, a changed plan, a new member) and reads nothing.
grant insert on audit_entries to troupe_directory;
create policy directory on audit_entries for insert to troupe_directory with check (true);

-- Actions of the operator on the whole platform. No tenant can read them.
create table platform_audit_entries (
  recorded_at timestamptz not null default clock_timestamp(),
  id uuid not null default gen_random_uuid(),
  actor text not null check (length(actor) between 1 and 256),
  action text not null check (action ~ '^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)+$' and length(action) <= 64),
  subject text not null check (length(subject) <= 256),
  details jsonb not null default '{}'::jsonb check (jsonb_typeof(details) = 'object'),
  primary key (recorded_at, id)
);

alter table platform_audit_entries enable row level security;
alter table platform_audit_entries force row level security;

grant select, insert on platform_audit_entries to troupe_directory;
create policy directory on platform_audit_entries to troupe_directory using (true) with check (true);
