-- Responses that callers may continue and read again (src/models/responses).
create table stored_responses (
  tenant_id uuid not null references tenants (id) on delete cascade,
  id uuid not null,
  -- The response that this one continues. It may be gone: then the conversation ends here.
  previous_id uuid,
  -- Of the whole conversation up to here.
  turns int not null check (turns > 0),
  bytes bigint not null check (bytes >= 0),
  -- The response and the messages that it added to the conversation.
  sealed bytea not null,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
-- For the sweep. Responses are written in the order of their time, so an index of blocks is enough.
create index stored_responses_age on stored_responses using brin (created_at);

alter table stored_responses enable row level security;
alter table stored_responses force row level security;

grant select, insert, delete on stored_responses to troupe_app;
create policy tenant on stored_responses to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
-- A new master key seals the rows of every tenant again.
grant select, update (sealed) on stored_responses to troupe_directory;
create policy directory on stored_responses to troupe_directory using (true) with check (true);
