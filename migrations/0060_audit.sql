-- The audit log (src/tenancy/audit). An entry is written in the transaction of the action that it records: neither exists
-- without the other. Entries are only added; no role of the application may change or delete one.
--
-- No foreign key to tenants or users: an entry outlives its subject.

create table audit_entries (
  tenant_id uuid not null,
  -- Whole milliseconds, as cursors carry them.
  recorded_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  id uuid not null default gen_random_uuid(),
  actor text not null check (length(actor) between 1 and 256),
  action text not null check (action ~ '^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)+$' and length(action) <= 64),
  subject text not null check (length(subject) <= 256),
  details jsonb not null default '{}'::jsonb check (jsonb_typeof(details) = 'object'),
  -- The request, null for work that no request asked for.
  request_id text check (length(request_id) <= 200),
  address text check (length(address) <= 100),
  -- The name of the target at that moment. Names of users are read from their accounts instead.
  target_name text check (length(target_name) <= 256),
  -- {"field": {"old", "new"}}, secrets and texts of conversations left out.
  changes jsonb not null default '{}'::jsonb check (jsonb_typeof(changes) = 'object'),
  outcome text not null default 'done' check (outcome in ('done', 'refused')),
  actor_id text generated always as (substr(actor, strpos(actor, ':') + 1)) stored,
  target_id text generated always as (substr(subject, strpos(subject, ':') + 1)) stored,
  primary key (tenant_id, recorded_at, id)
);
create index audit_entries_actor on audit_entries (tenant_id, actor_id, recorded_at desc, id desc);
create index audit_entries_target on audit_entries (tenant_id, target_id, recorded_at desc, id desc);
create index audit_entries_action on audit_entries (tenant_id, action, recorded_at desc, id desc);

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
  -- The request, null for work that no request asked for.
  request_id text check (length(request_id) <= 200),
  address text check (length(address) <= 100),
  primary key (recorded_at, id)
);

alter table platform_audit_entries enable row level security;
alter table platform_audit_entries force row level security;

grant select, insert on platform_audit_entries to troupe_directory;
create policy directory on platform_audit_entries to troupe_directory using (true) with check (true);

-- forget_audited_consumer changes entries as the owner, for one consumer of the transaction's tenant.
create policy owner on audit_entries to current_user using (tenant_id = current_tenant());
create index audit_entries_subject on audit_entries (tenant_id, subject);
