-- Mails on their way out. A mail is queued in the transaction of what it tells of, so neither is there without the
-- other; workers of any node send it afterwards.
create table mails (
  tenant_id uuid not null references tenants (id) on delete cascade,
  id uuid not null,
  -- The same in every attempt, so that a mail which was sent twice is recognised as one.
  message_id text not null,
  recipient text not null,
  -- Sealed, because a mail may carry the only copy of a join link's token; removed once nothing is left to send.
  sealed_content bytea,
  queued_at timestamptz not null,
  attempts int not null default 0 check (attempts >= 0),
  -- While a worker sends, when others may think it dead.
  next_attempt_at timestamptz not null,
  last_error text,
  sent_at timestamptz,
  given_up_at timestamptz,
  primary key (tenant_id, id),
  check ((sent_at is null and given_up_at is null) = (sealed_content is not null)),
  check (sent_at is null or given_up_at is null)
);
create index mails_due on mails (next_attempt_at) where sealed_content is not null;
create index mails_age on mails (queued_at);

alter table mails enable row level security;
alter table mails force row level security;

grant insert on mails to troupe_app;
create policy tenant on mails to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

-- The workers send for all tenants.
grant select, insert, update, delete on mails to troupe_directory;
create policy directory on mails to troupe_directory using (true) with check (true);
