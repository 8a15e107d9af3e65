-- Images and files that came with messages (src/conversations/attachments). A row is stored before its message is accepted,
-- so that large content crosses no node and is copied into no event, and is bound to the message by the message's commit.
-- No foreign keys, for the reason that messages have none: the trigger forget_attachments_of_session removes the rows of a
-- deleted session. What no message was bound to goes after two days.
create table attachments (
  tenant_id uuid not null,
  id uuid not null,
  session_id uuid not null,
  -- Null until the message is part of the conversation.
  message_id uuid,
  type text not null check (type in ('image', 'file')),
  media_type text not null,
  name text,
  -- The length of the content.
  bytes int not null check (bytes >= 0),
  -- The content, sealed, since it may hold anything.
  sealed bytea not null,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
-- Sealed content does not compress.
alter table attachments alter column sealed set storage external;
create index attachments_session on attachments (tenant_id, session_id);
create index attachments_age on attachments (tenant_id, created_at);

alter table attachments enable row level security;
alter table attachments force row level security;
grant select, insert, update, delete on attachments to troupe_app;
create policy tenant on attachments to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
-- Actors of many tenants bind attachments in one batch, each under its own fence.
grant select, update on attachments to troupe_writer;
create policy writer on attachments to troupe_writer using (true) with check (true);
-- forget_attachments_of_session runs as whoever deletes the session.
grant delete on attachments to troupe_writer;

-- A change of the master key seals the rows of all tenants again.
grant select, update on attachments to troupe_directory;
create policy directory on attachments to troupe_directory using (true) with check (true);
