-- Triggers: what starts agents from outside (src/automation/triggers). The configuration is stored as people wrote it and
-- interpreted at each use.
create table triggers (
  tenant_id uuid not null references tenants (id) on delete cascade,
  id uuid not null,
  agent_id uuid not null,
  name text not null,
  trigger_type text not null check (trigger_type in ('webhook', 'email', 'db_event', 'schedule')),
  config jsonb not null check (jsonb_typeof(config) = 'object'),
  enabled boolean not null default true,
  -- A source that is polled begins with what came after this time.
  first_enabled_at timestamptz,
  revision bigint not null default 1,
  -- The hosts to which owners and admins allow its secrets to be sent, as "<reference> <host>".
  approved text[] not null default '{}',
  -- The secrets that it names, as `name:<name>` or `id:<id>`.
  secrets text[] not null default '{}',
  -- Of a webhook: its own secret in the vault, and until when the former value is accepted too.
  secret_id uuid,
  former_secret_until timestamptz,
  created_by uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, agent_id) references agents (tenant_id, id) on delete cascade
);
-- A webhook's address carries the trigger's id alone.
create unique index triggers_id on triggers (id);
create index triggers_newest on triggers (tenant_id, created_at desc, id desc);
-- Finds the trigger that takes mail for an address.
create index triggers_mail_address on triggers (lower(config ->> 'address')) where trigger_type = 'email';

alter table triggers enable row level security;
alter table triggers force row level security;
grant select, insert, update, delete on triggers to troupe_app;
create policy tenant on triggers to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
grant select on triggers to troupe_directory;
create policy directory on triggers for select to troupe_directory using (true);

-- Published for telemetry.
create view reports.triggers with (security_invoker = true) as select tenant_id, id, name from triggers;
grant select on reports.triggers to troupe_app;
