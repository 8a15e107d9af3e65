-- Users, tenants, memberships, and sign-in: signing keys, token families, failed attempts (src/tenancy/identity).

create table users (
  id uuid primary key,
  email text not null,
  name text,
  password_hash text,
  created_at timestamptz not null default now(),
  -- A disabled user keeps the rows (records of others name the user) but cannot sign in anywhere.
  disabled_at timestamptz,
  -- Null: the user has not yet proved to read mail of this address.
  email_verified_at timestamptz,
  -- A deleted user keeps the row without address, name and password, because records of others name the user.
  deleted_at timestamptz,
  check (deleted_at is null or (disabled_at is not null and password_hash is null))
);
create unique index users_email_key on users (lower(email));

create table tenants (
  id uuid primary key,
  name text not null,
  plan text not null default 'free' check (plan in ('free', 'basic', 'pro', 'enterprise')),
  settings jsonb not null default '{}'::jsonb check (jsonb_typeof(settings) = 'object'),
  created_at timestamptz not null default now(),
  -- For how many days rows are kept, where it differs from the defaults; see src/kernel/retention.ts.
  retention jsonb not null default '{}'::jsonb check (jsonb_typeof(retention) = 'object'),
  -- When a node last claimed the sweep of rows that are kept no longer.
  swept_at timestamptz not null default now(),
  -- The user who created the tenant. It counts against that user's limit of tenants even after another user owns it. Null
  -- for a tenant that an operator created.
  made_by uuid references users (id) on delete set null,
  -- SHA-256 of the Idempotency-Key of the request that made it, and of its body: a repeat within a day makes no other.
  request_key bytea,
  request_body bytea,
  -- Set while the operator keeps the tenant from working: none of its credentials and triggers is served.
  suspended_at timestamptz,
  suspend_reason text,
  -- Set once the tenant is being deleted, which nothing undoes: nothing of it is served, and nodes remove its rows.
  deleting_at timestamptz,
  deleted_by text check (length(deleted_by) <= 256),
  -- When a node last claimed the removal of its rows.
  removal_claimed_at timestamptz,
  check (suspended_at is not null or suspend_reason is null),
  check ((deleting_at is null) = (deleted_by is null))
);
create index tenants_deleting on tenants (deleting_at) where deleting_at is not null;
create index tenants_made_by on tenants (made_by) where made_by is not null;
create unique index tenants_request on tenants (made_by, request_key) where request_key is not null;

create table memberships (
  tenant_id uuid not null references tenants (id) on delete cascade,
  user_id uuid not null references users (id) on delete cascade,
  role text not null check (role in ('owner', 'admin', 'editor', 'member')),
  phone text,
  external_id text,
  created_at timestamptz not null default now(),
  primary key (tenant_id, user_id)
);
create index memberships_user on memberships (user_id);

alter table tenants enable row level security;
alter table tenants force row level security;
alter table users enable row level security;
alter table users force row level security;
alter table memberships enable row level security;
alter table memberships force row level security;

grant select, update on tenants to troupe_app;
create policy tenant on tenants to troupe_app
  using (id = current_tenant()) with check (id = current_tenant());

grant select, insert, update, delete on memberships to troupe_app;
create policy tenant on memberships to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

-- A tenant sees its own members, and never a password hash.
grant select (id, email, name, created_at) on users to troupe_app;
create policy member on users for select to troupe_app
  using (exists (select from memberships m where m.tenant_id = current_tenant() and m.user_id = users.id));

-- Sign-in looks users and memberships up before the tenant is known.
grant select, insert, update on tenants, users to troupe_directory;
grant select, insert, update, delete on memberships to troupe_directory;
create policy directory on tenants to troupe_directory using (true) with check (true);
create policy directory on users to troupe_directory using (true) with check (true);
create policy directory on memberships to troupe_directory using (true) with check (true);

-- Published: the plans of tenants, for queries of other folders that find a key's or a trigger's tenant in one round trip.
create view tenant_plans with (security_invoker = true) as
  select id as tenant_id, plan, settings, suspended_at is not null as suspended, deleting_at is not null as deleting
  from tenants;
grant select on tenant_plans to troupe_app, troupe_directory;
-- Published: for how many days tenants keep rows, for what goes for all tenants at once.
create view tenant_retention with (security_invoker = true) as select id as tenant_id, retention from tenants;
grant select on tenant_retention to troupe_directory;

-- The last step of a deletion.
grant delete on tenants to troupe_directory;
-- Functions of other owners delete what nobody may delete of a living tenant; they see the tenants that are being deleted.
create policy owner on tenants for select to current_user using (deleting_at is not null);

-- The following tables belong to no tenant; troupe_directory alone may use them.

-- The keys that sign access tokens.
create table signing_keys (
  id text primary key,
  public_key jsonb not null check (jsonb_typeof(public_key) = 'object'),
  sealed_private_key bytea not null,
  -- Later than `now()` after a rotation: every node caches the new public key before its first signature arrives.
  signs_from timestamptz not null
);

-- All refresh tokens of one sign-in. Access tokens name their family and are valid no longer than it.
create table token_families (
  id uuid primary key,
  user_id uuid not null references users (id) on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  end_reason text check (end_reason in (
    'signed-out', 'signed-out-everywhere', 'replayed', 'disabled', 'deleted', 'address-proved', 'password-changed',
    'password-reset')),
  check ((ended_at is null) = (end_reason is null))
);
create index token_families_user on token_families (user_id);
create index token_families_expiry on token_families (expires_at);

-- A used token is kept for a while: its second use shows a theft.
create table refresh_tokens (
  hash bytea primary key check (octet_length(hash) = 32),
  family_id uuid not null references token_families (id) on delete cascade,
  issued_at timestamptz not null,
  used_at timestamptz
);
create index refresh_tokens_family on refresh_tokens (family_id);

-- `subject` is a hash: people type passwords into the wrong field.
create table sign_in_failures (
  id bigint primary key generated always as identity,
  subject bytea not null check (octet_length(subject) = 32),
  failed_at timestamptz not null
);
create index sign_in_failures_subject on sign_in_failures (subject, failed_at);
create index sign_in_failures_age on sign_in_failures (failed_at);

-- How many tenants an address created on a day (UTC). `subject` is a hash of the address, which itself is not needed.
create table new_tenants_by_address (
  subject bytea not null check (octet_length(subject) = 32),
  day date not null,
  made int not null check (made > 0),
  primary key (subject, day)
);
create index new_tenants_by_address_day on new_tenants_by_address (day);

-- Users of outside issuers. An issuer names a person by a subject that never changes and is never given to another
-- person; an e-mail address guarantees neither.
create table outside_identities (
  issuer text not null,
  subject text not null,
  user_id uuid not null references users (id) on delete cascade,
  linked_at timestamptz not null,
  primary key (issuer, subject)
);
-- One person of an issuer per user: the second of two concurrent first sign-ins fails here.
create unique index outside_identities_user on outside_identities (user_id, issuer);

-- The tokens in mails to the owners of addresses: `verify` proves the address, `reset` sets a password. A token is
-- deleted when it is used. The table keeps the hash; only the mail carries the token.
create table account_tokens (
  hash bytea primary key check (octet_length(hash) = 32),
  user_id uuid not null references users (id) on delete cascade,
  purpose text not null check (purpose in ('verify', 'reset')),
  issued_at timestamptz not null,
  expires_at timestamptz not null,
  -- False for the mail that a registration sends by itself; the limit of mails per hour does not count it.
  requested boolean not null
);
create index account_tokens_user on account_tokens (user_id, purpose, issued_at);
create index account_tokens_expiry on account_tokens (expires_at);

-- Addresses whose owner forgot the password. A request inserts one row, whether the address has an account or not, so
-- that its work does not depend on that; the account is looked up later.
create table reset_requests (
  id bigint primary key generated always as identity,
  email text not null,
  requested_at timestamptz not null
);
grant select, insert, delete on account_tokens to troupe_directory;
-- Update only for the lock of a request that a node works on.
grant select, insert, update, delete on reset_requests to troupe_directory;

grant select, insert, update, delete on signing_keys, token_families, refresh_tokens to troupe_directory;
grant select, insert, delete on sign_in_failures to troupe_directory;
grant select, insert, update, delete on new_tenants_by_address to troupe_directory;
grant select, insert, delete on outside_identities to troupe_directory;
