-- The inbox of triggers and the windows of its buffers (src/automation/inbox). Accepting a message writes as little as
-- possible: each index and each foreign key costs as much as the row. The tables have no foreign key to tenants; the
-- trigger forget_trigger_messages removes a deleted tenant's rows.

-- Messages that triggers accepted, whether they run at once or wait in a buffer. The key is unique: the sender's own key,
-- the channel's message id, or an id that the node fixed.
create table trigger_inbox (
  tenant_id uuid not null,
  trigger_id uuid not null,
  -- Compared byte by byte.
  key text collate "C" not null,
  -- The order of acceptance.
  seq bigint generated always as identity,
  session_id uuid not null,
  -- Null while the message waits in a buffer.
  execution_id uuid,
  -- `merged`: part of the execution of a buffer.
  state text not null check (state in ('buffered', 'merged', 'running', 'done')),
  -- A repeated key with another payload is refused.
  payload_hash text not null,
  -- Query, context for tools, sender, and how to answer. Sealed, since it may hold anything.
  sealed bytea not null,
  -- The response that the sender got, for a repeated message.
  answer jsonb,
  attempts int not null default 0,
  -- When a process should check whether the message still runs.
  due_at timestamptz not null,
  -- The process whose claim `due_at` holds; when it is surely gone, the claim is void. Null if no other process can tell
  -- when it has ended. Each connection of a process carries its name.
  claimed_by text default nullif(current_setting('troupe.process', true), ''),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (tenant_id, trigger_id, key)
);
-- By tenant first: a lost node's messages are taken up tenant by tenant, so that a few messages of one tenant do not wait
-- behind thousands of another.
create index trigger_inbox_due on trigger_inbox (tenant_id, due_at) where state = 'running';
create index trigger_inbox_buffered on trigger_inbox (session_id) where state = 'buffered';
-- By session first: beside an index by tenant and time a cached plan could choose that one, and read everything that the
-- tenant has waiting for each session of a batch.
create index trigger_inbox_session on trigger_inbox (session_id, seq) where state = 'running';
create index trigger_inbox_execution on trigger_inbox (tenant_id, execution_id) where execution_id is not null;
-- A message enters this index when it is done, not when it is accepted.
create index trigger_inbox_expiry on trigger_inbox (expires_at) where state in ('done', 'merged');

-- One row for each open buffer. The process that deletes the row flushes the buffer.
create table trigger_windows (
  tenant_id uuid not null,
  trigger_id uuid not null,
  session_id uuid not null,
  messages int not null,
  -- The end of the window. It moves with every message.
  due_at timestamptz not null,
  -- When a process checks whether the window is over. It may lag behind due_at, so that a message writes no index and
  -- PostgreSQL changes the row in place.
  look_at timestamptz not null,
  primary key (tenant_id, trigger_id, session_id)
)
with (fillfactor = 50);
create index trigger_windows_look on trigger_windows (look_at);

do $$
declare place text;
begin
  foreach place in array array['trigger_inbox', 'trigger_windows'] loop
    execute format('alter table %I enable row level security', place);
    execute format('alter table %I force row level security', place);
    execute format('grant select, insert, update, delete on %I to troupe_app', place);
    execute format('create policy tenant on %I to troupe_app
      using (tenant_id = current_tenant()) with check (tenant_id = current_tenant())', place);
    execute format('grant select, insert, update, delete on %I to troupe_writer', place);
    execute format('create policy writer on %I to troupe_writer using (true) with check (true)', place);
    -- forget_trigger_messages deletes as the owner.
    execute format('create policy owner on %I to current_user using (tenant_id = current_tenant())', place);
  end loop;
end $$;
-- flush_trigger_windows deletes windows.

-- Recovery of lost messages and removal of expired ones work across tenants.
grant select, update, delete on trigger_inbox to troupe_directory;
create policy directory on trigger_inbox to troupe_directory using (true) with check (true);
grant select on trigger_windows to troupe_directory;
create policy directory on trigger_windows for select to troupe_directory using (true);
grant update (look_at) on trigger_windows to troupe_directory;
create policy directory_looks on trigger_windows for update to troupe_directory using (true) with check (true);

-- Published for the outbox, which sends the answers of a session in the order of its messages.
create view running_messages with (security_invoker = true) as
  select tenant_id, session_id, seq from trigger_inbox where state = 'running';
grant select on running_messages to troupe_writer;
