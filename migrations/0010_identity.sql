-- Signing in: the keys that sign access tokens, chains of refresh tokens, failed attempts. None of it belongs to a
-- tenant, so only the directory's role may touch it.

-- A disabled user keeps their rows (others' records name them) but gets in nowhere.
alter table users add column disabled_at timestamptz;

create table signing_keys (
  id text primary key,
  public_key jsonb not null check (jsonb_typeof(public_key) = 'object'),
  sealed_private_key bytea not null,
  -- Ahead of `now()` after a rotation, so that every cached copy of the public keys has the new one before its first
  -- signature is seen.
  signs_from timestamptz not null
);

-- All refresh tokens that follow from one sign-in. Access tokens name their family and die with it.
create table token_families (
  id uuid primary key,
  user_id uuid not null references users (id) on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  end_reason text check (end_reason in ('signed-out', 'replayed', 'disabled')),
  check ((ended_at is null) = (end_reason is null))
);
create index token_families_user on token_families (user_id);
create index token_families_expiry on token_families (expires_at);

-- A used token stays for a while: seeing it again is how a theft shows.
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

grant select, insert, update, delete on signing_keys, token_families, refresh_tokens to troupe_directory;
grant select, insert, delete on sign_in_failures to troupe_directory;
