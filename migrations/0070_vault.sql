-- The vault (src/tenancy/vault). A secret's value is encrypted with a data key of its tenant, and the data key with a
-- master key, which is never in the database. The encryption authenticates tenant, secret and version, so that a row
-- copied to another tenant cannot be decrypted.

-- The master keys that wrap data keys, by fingerprint. Exactly one is active. Every node wraps with the active one, even
-- if it was started with another, so that nodes with both settings can run side by side during a rotation.
create table vault_master_keys (
  id text primary key check (id ~ '^[0-9a-f]{32}$'),
  active boolean not null,
  first_seen_at timestamptz not null default now(),
  -- Since this time no data key depends on it.
  retired_at timestamptz,
  check (not (active and retired_at is not null))
);
create unique index vault_master_keys_active on vault_master_keys (active) where active;

create table vault_data_keys (
  tenant_id uuid not null references tenants (id) on delete cascade,
  id uuid not null,
  wrapped bytea not null,
  wrapped_by text not null references vault_master_keys (id),
  created_at timestamptz not null default now(),
  -- Since this time nothing new is encrypted with it; older values stay readable.
  retired_at timestamptz,
  primary key (tenant_id, id)
);
create unique index vault_data_keys_current on vault_data_keys (tenant_id) where retired_at is null;
create index vault_data_keys_wrapped_by on vault_data_keys (wrapped_by, tenant_id, id);

create table secrets (
  tenant_id uuid not null references tenants (id) on delete cascade,
  id uuid not null,
  -- Secrets that people create have a name. A secret that another subject keeps for a resource of its own, such as a
  -- database's password, has an owner instead and appears in no list.
  name text check (name ~ '^[A-Za-z0-9_.-]{1,64}$'),
  owner text check (length(owner) between 1 and 200),
  kind text not null check (kind in ('generic', 'llm_key', 'basic', 'bearer')),
  provider text check (length(provider) between 1 and 64),
  allowed_hosts text[],
  version int not null check (version >= 1),
  created_by text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  value_changed_at timestamptz not null default now(),
  primary key (tenant_id, id),
  check ((name is null) <> (owner is null)),
  check ((kind = 'llm_key') = (provider is not null))
);
create unique index secrets_name on secrets (tenant_id, name);
create unique index secrets_owner on secrets (tenant_id, owner);
create index secrets_provider on secrets (tenant_id, provider) where provider is not null;

create table secret_versions (
  tenant_id uuid not null,
  secret_id uuid not null,
  version int not null,
  data_key_id uuid not null,
  sealed bytea not null,
  created_at timestamptz not null default now(),
  -- Set once a newer version exists: until this time callers may still present this one.
  accepted_until timestamptz,
  primary key (tenant_id, secret_id, version),
  foreign key (tenant_id, secret_id) references secrets (tenant_id, id) on delete cascade,
  foreign key (tenant_id, data_key_id) references vault_data_keys (tenant_id, id)
);
create index secret_versions_data_key on secret_versions (tenant_id, data_key_id);

alter table vault_data_keys enable row level security;
alter table vault_data_keys force row level security;
alter table secrets enable row level security;
alter table secrets force row level security;
alter table secret_versions enable row level security;
alter table secret_versions force row level security;

-- A key is deleted, with all that it sealed, when its tenant is deleted.
grant select, insert, update, delete on vault_data_keys to troupe_app;
create policy tenant on vault_data_keys to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

grant select, insert, update, delete on secrets to troupe_app;
create policy tenant on secrets to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

grant select, insert, update, delete on secret_versions to troupe_app;
create policy tenant on secret_versions to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

-- A rotation of the master key wraps the data keys of all tenants again; it never reads a secret.
grant select, insert, update on vault_master_keys to troupe_directory;
grant select, update on vault_data_keys to troupe_directory;
create policy directory_reads on vault_data_keys for select to troupe_directory using (true);
create policy directory_wraps on vault_data_keys for update to troupe_directory using (true) with check (true);
