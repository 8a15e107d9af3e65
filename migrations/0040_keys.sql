-- API keys and their use (src/tenancy/keys). Of a key the table keeps the SHA-256 and the last characters, by which
-- people tell keys apart.
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
  -- Ids of models or prefixes with `*`, and CIDRs; null allows all.
  allowed_models text[],
  allowed_ips text[],
  -- {usd, period}; null without a budget.
  budget jsonb,
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  primary key (tenant_id, id)
);
-- The hash comes first: it is all that is known of an arriving key.
create unique index api_keys_hash on api_keys (hash, tenant_id);
create index api_keys_newest on api_keys (tenant_id, created_at desc, id desc);

-- The use of keys, apart from the keys: every node writes it in batches, and admitting a request never reads it.
create table api_key_use (
  tenant_id uuid not null references tenants (id) on delete cascade,
  key_id uuid not null,
  total_requests bigint not null default 0 check (total_requests >= 0),
  last_used_at timestamptz,
  primary key (tenant_id, key_id)
);

-- One batch adds the use of many tenants' keys. Its id makes a repeated batch add nothing.
create table api_key_use_batches (
  id uuid primary key,
  added_at timestamptz not null default now()
);
create index api_key_use_batches_added on api_key_use_batches (added_at);

alter table api_keys enable row level security;
alter table api_keys force row level security;
alter table api_key_use enable row level security;
alter table api_key_use force row level security;

grant select, insert on api_keys to troupe_app;
-- No other column of a key ever changes, and no key is ever deleted.
grant update (rate_limit_per_minute, revoked_at, description, allowed_models, allowed_ips, budget) on api_keys to troupe_app;
create policy tenant on api_keys to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

grant select, insert on api_key_use to troupe_app;
create policy tenant on api_key_use to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

-- An arriving key is found by its hash before the tenant is known.
grant select on api_keys to troupe_directory;
create policy directory on api_keys for select to troupe_directory using (true);

-- A user who takes an account over by proving its address revokes the keys of its tenants in the same transaction.
grant update (revoked_at) on api_keys to troupe_directory;
create policy directory_revokes on api_keys for update to troupe_directory using (true) with check (true);

grant select, update on api_key_use to troupe_directory;
create policy directory on api_key_use to troupe_directory using (true) with check (true);
grant select, insert, delete on api_key_use_batches to troupe_directory;
