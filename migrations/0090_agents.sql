-- Agents, their versions and their tools (src/agents). An agent's definition is one document: a version is a copy of it,
-- and a partial change is a merge into it. Columns hold what queries look up and what is not content: status, published
-- version, access.
create table agents (
  tenant_id uuid not null references tenants (id) on delete cascade,
  id uuid not null,
  -- The working copy. A published agent runs a version, not the working copy.
  document jsonb not null check (jsonb_typeof(document) = 'object'),
  name text not null generated always as (document ->> 'name') stored,
  type text not null generated always as (document ->> 'type') stored,
  status text not null default 'draft' check (status in ('draft', 'published', 'archived')),
  -- Raised by each change of the working copy: publishing detects a change during its checks.
  revision bigint not null default 1,
  last_version int not null default 0 check (last_version >= 0),
  published_version int,
  rate_limit int check (rate_limit >= 1),
  allowed_users uuid[] not null default '{}',
  created_by uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id),
  check ((status = 'published') = (published_version is not null))
);
-- An archived agent frees its name; restoring it fails when the name is taken.
create unique index agents_name on agents (tenant_id, lower(name)) where status <> 'archived';
create index agents_newest on agents (tenant_id, created_at desc, id desc);

-- Never changed once written: a turn ends with the version that it began with.
create table agent_versions (
  tenant_id uuid not null,
  agent_id uuid not null,
  version int not null check (version >= 1),
  name text not null,
  snapshot jsonb not null check (jsonb_typeof(snapshot) = 'object'),
  created_by uuid,
  created_at timestamptz not null default now(),
  -- The secrets that the version names. A secret of a running version is in use, whatever the working copy says.
  secrets text[] not null default '{}',
  primary key (tenant_id, agent_id, version),
  foreign key (tenant_id, agent_id) references agents (tenant_id, id) on delete cascade
);

alter table agents add constraint agents_published_version
  foreign key (tenant_id, id, published_version) references agent_versions (tenant_id, agent_id, version);

-- The tools of agents: HTTP calls, MCP servers, other agents.
create table agent_schemas (
  tenant_id uuid not null,
  agent_id uuid not null,
  id uuid not null,
  document jsonb not null check (jsonb_typeof(document) = 'object'),
  name text not null generated always as (document ->> 'name') stored,
  type text not null generated always as (document ->> 'type') stored check (type in ('api', 'mcp', 'agent')),
  revision int not null default 1 check (revision >= 1),
  -- The hosts to which owners and admins allow its secrets to be sent, as "<reference> <host>".
  approved text[] not null default '{}',
  -- The secrets that it names, as `name:<name>` or `id:<id>`.
  secrets text[] not null default '{}',
  -- The tools that the MCP server listed last.
  tools jsonb check (jsonb_typeof(tools) = 'array'),
  tools_read_at timestamptz,
  -- The problems that the last check found; null when no check ran since the last change.
  issues jsonb check (jsonb_typeof(issues) = 'array'),
  checked_at timestamptz,
  created_by uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, agent_id, id),
  foreign key (tenant_id, agent_id) references agents (tenant_id, id) on delete cascade,
  check ((tools is null) = (tools_read_at is null)),
  check ((issues is null) = (checked_at is null))
);
create unique index agent_schemas_name on agent_schemas (tenant_id, agent_id, name);

alter table agents enable row level security;
alter table agents force row level security;
alter table agent_versions enable row level security;
alter table agent_versions force row level security;
alter table agent_schemas enable row level security;
alter table agent_schemas force row level security;

grant select, insert, update on agents to troupe_app;
create policy tenant on agents to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

grant select, insert on agent_versions to troupe_app;
create policy tenant on agent_versions to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

grant select, insert, update, delete on agent_schemas to troupe_app;
create policy tenant on agent_schemas to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

-- Published for telemetry.
create view reports.agents with (security_invoker = true) as select tenant_id, id, name from agents;
grant select on reports.agents to troupe_app;
