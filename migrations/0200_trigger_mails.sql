-- Mails that triggers took or sent, by Message-ID (src/automation/messages). Each mail is taken once, and a reply finds its
-- thread. A row is written in the transaction that puts the mail into the inbox, or its answer into the outbox.
create table trigger_mails (
  tenant_id uuid not null,
  trigger_id uuid not null,
  -- Digests of ids, which may name their senders.
  message_id text not null,
  -- That of the first known mail of the thread.
  thread text not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, trigger_id, message_id),
  foreign key (tenant_id, trigger_id) references triggers (tenant_id, id) on delete cascade
);
create index trigger_mails_age on trigger_mails (created_at);

alter table trigger_mails enable row level security;
alter table trigger_mails force row level security;
grant select, insert, delete on trigger_mails to troupe_app;
create policy tenant on trigger_mails to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
grant select, insert on trigger_mails to troupe_writer;
create policy writer on trigger_mails to troupe_writer using (true) with check (true);

-- Every node removes expired rows in small batches. The policy hides younger rows.
grant select, delete on trigger_mails to troupe_directory;
create policy forget on trigger_mails to troupe_directory using (created_at < now() - interval '365 days');
