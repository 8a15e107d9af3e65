-- Databases of tenants: the server, the account, and the tables that may be read (src/automation/databases). The password
-- is in the vault.
create table database_configs (
  tenant_id uuid not null references tenants (id) on delete cascade,
  id uuid not null,
  name text not null,
  description text not null,
  host text not null,
  port int not null check (port between 1 and 65535),
  database_name text not null,
  username text not null,
  ssl boolean not null,
  -- The password: a secret that people created, by name or id, or a value that belongs to this row and ends with it.
  secret_name text,
  secret_id uuid,
  own_secret_id uuid,
  -- The password and the host that an owner or admin approved together. Null: the secret's own list of hosts decides.
  approved_for text,
  -- As schema.table; null: all but the system's tables.
  allowed_tables text[],
  is_primary boolean not null,
  is_active boolean not null,
  -- Raised by each change that makes the schema read before invalid.
  target_revision bigint not null default 1,
  schema_read jsonb check (jsonb_typeof(schema_read) = 'object'),
  schema_read_at timestamptz,
  created_by text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  -- The approved scheme, host and port; approved_for names the host alone. An approval holds only while both match. Null:
  -- no approval, the secret's own list of hosts decides.
  approved_place text,
  primary key (tenant_id, id),
  check (num_nonnulls(secret_name, secret_id, own_secret_id) = case when deleted_at is null then 1 else 0 end),
  check ((schema_read is null) = (schema_read_at is null)),
  check (deleted_at is null or not (is_primary or is_active))
);
-- Of two nodes that set a primary database at once, the second fails here.
create unique index database_configs_primary on database_configs (tenant_id) where is_primary;
create index database_configs_newest on database_configs (tenant_id, created_at desc, id desc);
create index database_configs_deleted on database_configs (tenant_id, deleted_at) where deleted_at is not null;

alter table database_configs enable row level security;
alter table database_configs force row level security;

grant select, insert, update, delete on database_configs to troupe_app;
create policy tenant on database_configs to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
