-- Mails that triggers took or sent, by their Message-ID: each is taken once, and an answer to one of them finds its
-- thread. A mail is noted in the transaction that puts it into the inbox, or its answer into the outbox.
create table trigger_mails (
  tenant_id uuid not null,
  trigger_id uuid not null,
  -- Long ones as a digest.
  message_id text not null,
  -- The id of the mail that the thread began with, as far as it is known.
  thread text not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, trigger_id, message_id),
  foreign key (tenant_id, trigger_id) references triggers (tenant_id, id) on delete cascade
);

alter table trigger_mails enable row level security;
alter table trigger_mails force row level security;
grant select, insert on trigger_mails to troupe_app;
create policy tenant on trigger_mails to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
grant select, insert on trigger_mails to troupe_writer;
create policy writer on trigger_mails to troupe_writer using (true) with check (true);

-- Which trigger takes mail for an address.
create index triggers_mail_address on triggers (lower(config ->> 'address')) where trigger_type = 'email';
