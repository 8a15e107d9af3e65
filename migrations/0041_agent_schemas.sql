-- The tools of agents: HTTP calls, MCP servers, other agents.
create table agent_schemas (
  tenant_id uuid not null,
  agent_id uuid not null,
  id uuid not null,
  document jsonb not null check (jsonb_typeof(document) = 'object'),
  name text not null generated always as (document ->> 'name') stored,
  type text not null generated always as (document ->> 'type') stored check (type in ('api', 'mcp', 'agent')),
  revision int not null default 1 check (revision >= 1),
  -- Where owners and admins let its secrets be sent, as "<reference> <host>".
  approved text[] not null default '{}',
  -- The secrets that it names, as `name:<name>` or `id:<id>`.
  secrets text[] not null default '{}',
  -- What the MCP server last said that it can do.
  tools jsonb check (jsonb_typeof(tools) = 'array'),
  tools_read_at timestamptz,
  -- What the last check found wrong; null when nobody has checked since the last change.
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

alter table agent_schemas enable row level security;
alter table agent_schemas force row level security;

grant select, insert, update, delete on agent_schemas to troupe_app;
create policy tenant on agent_schemas to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

-- A secret that a running version needs is in use, whatever became of the working copy.
alter table agent_versions add column secrets text[] not null default '{}';
