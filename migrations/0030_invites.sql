-- Invitations to a tenant (src/tenancy/invites). The table keeps the hash of the token; only the mail carries the token.
create table invites (
  tenant_id uuid not null references tenants (id) on delete cascade,
  id uuid not null,
  email text not null,
  role text not null check (role in ('owner', 'admin', 'editor', 'member')),
  token_hash bytea not null check (octet_length(token_hash) = 32),
  -- An expired invitation stays `pending` until a request reads it.
  status text not null default 'pending' check (status in ('pending', 'accepted', 'cancelled', 'expired')),
  invited_by uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  closed_at timestamptz,
  accepted_by uuid references users (id),
  primary key (tenant_id, id),
  check ((status = 'pending') = (closed_at is null)),
  check ((status = 'accepted') = (accepted_by is not null))
);
create unique index invites_token on invites (token_hash);
-- The second of two concurrent invitations of one address fails here.
create unique index invites_pending on invites (tenant_id, lower(email)) where status = 'pending';

-- Whether an address that registers is invited by any tenant.
create index invites_address on invites (lower(email)) where status = 'pending';

alter table invites enable row level security;
alter table invites force row level security;

grant select, insert, update on invites to troupe_app;
create policy tenant on invites to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

-- A token is looked up before the tenant is known.
grant select, update on invites to troupe_directory;
create policy directory on invites to troupe_directory using (true) with check (true);
