-- Messages that were accepted for triggers. Whether one runs at once or waits in a buffer, it comes through this table,
-- and its key is unique here: the sender's own key, the channel's message id, or an id that the node fixed.
create table trigger_inbox (
  tenant_id uuid not null references tenants (id) on delete cascade,
  trigger_id uuid not null,
  key text not null,
  -- The order of acceptance.
  seq bigint generated always as identity,
  session_id uuid not null,
  -- Null while it waits in a buffer.
  execution_id uuid,
  -- `merged`: part of the execution of a buffer.
  state text not null check (state in ('buffered', 'merged', 'running', 'done')),
  -- Whoever repeats a key with another payload has made a mistake.
  payload_hash text not null,
  -- What runs, and what it answers: query, context for tools, sender. Sealed, since it may hold anything.
  sealed bytea not null,
  -- What the sender was told, for a repeat of the message.
  answer jsonb,
  attempts int not null default 0,
  -- When somebody should look whether it still runs.
  due_at timestamptz not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (tenant_id, trigger_id, key)
);
create index trigger_inbox_due on trigger_inbox (due_at) where state = 'running';
create index trigger_inbox_buffered on trigger_inbox (tenant_id, trigger_id, session_id, seq) where state = 'buffered';
create index trigger_inbox_session on trigger_inbox (tenant_id, session_id, seq) where state = 'running';
create index trigger_inbox_execution on trigger_inbox (tenant_id, execution_id) where execution_id is not null;
create index trigger_inbox_expiry on trigger_inbox (expires_at);

-- One row for each buffer that is open. Whoever deletes the row flushes the buffer.
create table trigger_windows (
  tenant_id uuid not null references tenants (id) on delete cascade,
  trigger_id uuid not null,
  session_id uuid not null,
  messages int not null,
  due_at timestamptz not null,
  primary key (tenant_id, trigger_id, session_id)
);
create index trigger_windows_due on trigger_windows (due_at);

-- How the last message of a session came in, to answer by the same way when somebody writes by hand.
create table trigger_replies (
  tenant_id uuid not null references tenants (id) on delete cascade,
  session_id uuid not null,
  trigger_id uuid not null,
  sealed bytea not null,
  updated_at timestamptz not null default now(),
  primary key (tenant_id, session_id)
);

do $$
declare place text;
begin
  foreach place in array array['trigger_inbox', 'trigger_windows', 'trigger_replies'] loop
    execute format('alter table %I enable row level security', place);
    execute format('alter table %I force row level security', place);
    execute format('grant select, insert, update, delete on %I to troupe_app', place);
    execute format('create policy tenant on %I to troupe_app
      using (tenant_id = current_tenant()) with check (tenant_id = current_tenant())', place);
    execute format('grant select, insert, update on %I to troupe_writer', place);
    execute format('create policy writer on %I to troupe_writer using (true) with check (true)', place);
  end loop;
end $$;

-- Whoever takes up what a process left behind, and forgets what is over, looks across tenants.
grant select, update, delete on trigger_inbox to troupe_directory;
create policy directory on trigger_inbox to troupe_directory using (true) with check (true);
grant select on trigger_windows to troupe_directory;
create policy directory on trigger_windows for select to troupe_directory using (true);
