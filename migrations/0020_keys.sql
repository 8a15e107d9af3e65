-- API keys. Of the key itself only the SHA-256 is kept, and the end that people tell keys apart by.
create table api_keys (
  tenant_id uuid not null references tenants (id) on delete cascade,
  id uuid not null,
  hash bytea not null check (length(hash) = 32),
  prefix text not null check (prefix in ('svc_live_', 'svc_test_', 'svc_dev_')),
  suffix text not null,
  name text not null,
  description text,
  role text not null check (role in ('owner', 'admin', 'editor', 'member')),
  rate_limit_per_minute integer not null check (rate_limit_per_minute > 0),
  quota_limit bigint check (quota_limit > 0),
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  primary key (tenant_id, id)
);
-- The hash leads, since that is all that is known of a key that arrives.
create unique index api_keys_hash on api_keys (hash, tenant_id);
create index api_keys_newest on api_keys (tenant_id, created_at desc, id desc);

-- What keys were used for, apart from the keys: written in batches by every node, never read to admit a request.
create table api_key_use (
  tenant_id uuid not null references tenants (id) on delete cascade,
  key_id uuid not null,
  total_requests bigint not null default 0 check (total_requests >= 0),
  last_used_at timestamptz,
  primary key (tenant_id, key_id)
);

alter table api_keys enable row level security;
alter table api_keys force row level security;
alter table api_key_use enable row level security;
alter table api_key_use force row level security;

grant select, insert on api_keys to troupe_app;
-- Nothing else of a key ever changes, and no key is ever deleted.
grant update (rate_limit_per_minute, revoked_at) on api_keys to troupe_app;
create policy tenant on api_keys to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

grant select, insert on api_key_use to troupe_app;
create policy tenant on api_key_use to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

-- Whose key it is, is found by its hash before the tenant is known.
grant select on api_keys to troupe_directory;
create policy directory on api_keys for select to troupe_directory using (true);

-- One batch adds up the use of many tenants' keys; it is added once, however often it is sent.
create table api_key_use_batches (
  id uuid primary key,
  added_at timestamptz not null default now()
);
create index api_key_use_batches_added on api_key_use_batches (added_at);

grant select, update on api_key_use to troupe_directory;
create policy directory on api_key_use to troupe_directory using (true) with check (true);
grant select, insert, delete on api_key_use_batches to troupe_directory;
