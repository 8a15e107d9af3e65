-- Agents and their versions. What people write is one document, so that a version is a copy of it and a partial change
-- is a merge into it; columns hold what is looked up by, and what is not content: status, version that runs, access.
create table agents (
  tenant_id uuid not null references tenants (id) on delete cascade,
  id uuid not null,
  -- The working copy. While the agent is published, it runs a version and not this.
  document jsonb not null check (jsonb_typeof(document) = 'object'),
  name text not null generated always as (document ->> 'name') stored,
  type text not null generated always as (document ->> 'type') stored,
  status text not null default 'draft' check (status in ('draft', 'published', 'archived')),
  -- Rises with every change of the working copy, so that publishing notices what changed while it was checking.
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
-- An archived agent gives its name free; whoever restores it finds out whether it is taken.
create unique index agents_name on agents (tenant_id, lower(name)) where status <> 'archived';
create index agents_newest on agents (tenant_id, created_at desc, id desc);

-- Never changed once written: turns that began with a version go on with it.
create table agent_versions (
  tenant_id uuid not null,
  agent_id uuid not null,
  version int not null check (version >= 1),
  name text not null,
  snapshot jsonb not null check (jsonb_typeof(snapshot) = 'object'),
  created_by uuid,
  created_at timestamptz not null default now(),
  primary key (tenant_id, agent_id, version),
  foreign key (tenant_id, agent_id) references agents (tenant_id, id) on delete cascade
);

alter table agents add constraint agents_published_version
  foreign key (tenant_id, id, published_version) references agent_versions (tenant_id, agent_id, version);

alter table agents enable row level security;
alter table agents force row level security;
alter table agent_versions enable row level security;
alter table agent_versions force row level security;

grant select, insert, update on agents to troupe_app;
create policy tenant on agents to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

grant select, insert on agent_versions to troupe_app;
create policy tenant on agent_versions to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
