-- Requests with an Idempotency-Key, each with its answer for 24 hours (src/http/idempotency).
create table idempotent_requests (
  tenant_id uuid not null references tenants (id) on delete cascade,
  -- Who sent it, such as `key:0b7e…`: another caller's key of the same text is another request.
  caller text not null,
  operation text not null,
  -- SHA-256 of the key, and of everything else that decides the answer.
  key_hash bytea not null,
  body_hash bytea not null,
  -- Ids that the request makes come from it, so that a repeat after a crash makes the same ones.
  seed uuid not null,
  -- The attempt that works on the request. It renews `held_until`; once that has passed, a repeat takes the request over.
  holder uuid,
  held_until timestamptz,
  -- What was made, such as `agent:5c1f…`; committed with it.
  subject text,
  -- Set once the request was answered. Without an answer beside it, the answer was too long or is a turn to follow.
  answered boolean not null default false,
  sealed_answer bytea,
  expires_at timestamptz not null,
  primary key (tenant_id, caller, operation, key_hash)
);
create unique index idempotent_requests_seed on idempotent_requests (tenant_id, seed);
create index idempotent_requests_expiry on idempotent_requests (expires_at);

alter table idempotent_requests enable row level security;
alter table idempotent_requests force row level security;

grant select, insert, update, delete on idempotent_requests to troupe_app;
create policy tenant on idempotent_requests to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
-- A new master key seals the answers of all tenants again.
grant update (sealed_answer) on idempotent_requests to troupe_directory;
create policy reseal_read on idempotent_requests for select to troupe_directory using (true);
create policy reseal on idempotent_requests for update to troupe_directory using (true) with check (true);
-- Old rows are removed for all tenants in small batches.
grant select, delete on idempotent_requests to troupe_directory;
create policy forget on idempotent_requests for delete to troupe_directory using (expires_at <= now());
