-- The queue of the platform's own mails (src/infra/mail). A mail is queued in the transaction of the event that it
-- reports, so that neither exists without the other. Workers of any node send it afterwards.
create table mails (
  -- Null for a mail about an account, which belongs to no tenant.
  tenant_id uuid references tenants (id) on delete cascade,
  id uuid primary key,
  -- The same in every attempt: a mail that is sent twice is recognised as one.
  message_id text not null,
  recipient text not null,
  -- Sealed, because a mail may carry the only copy of a token. Removed once nothing is left to send.
  sealed_content bytea,
  queued_at timestamptz not null,
  attempts int not null default 0 check (attempts >= 0),
  -- While a worker sends the mail: the time after which another worker may take it.
  next_attempt_at timestamptz not null,
  -- The process whose attempt `next_attempt_at` bounds; when it is surely gone, the claim is void. Null if no other process can tell
  -- when it has ended.
  claimed_by text,
  last_error text,
  sent_at timestamptz,
  given_up_at timestamptz,
  check ((sent_at is null and given_up_at is null) = (sealed_content is not null)),
  check (sent_at is null or given_up_at is null)
);
create index mails_due on mails (next_attempt_at) where sealed_content is not null;
create index mails_age on mails (queued_at);
create index mails_tenant on mails (tenant_id);

alter table mails enable row level security;
alter table mails force row level security;

grant insert on mails to troupe_app;
create policy tenant on mails to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

-- The workers send for all tenants.
grant select, insert, update, delete on mails to troupe_directory;
create policy directory on mails to troupe_directory using (true) with check (true);
