-- The outbox: answers to send, their attempts, and the reply routes of sessions (src/automation/outbox).

-- One row for an execution's answer, or for a message written by hand, in chunks that are sent one after the other.
create table deliveries (
  tenant_id uuid not null references tenants (id) on delete cascade,
  id uuid not null,
  -- The order within a session.
  seq bigint generated always as identity,
  session_id uuid not null,
  trigger_id uuid not null,
  -- Null for a message written by hand.
  execution_id uuid,
  -- The beginning of its chunks' keys.
  key text not null,
  -- The inbox message that it answers: older messages of the session are answered first.
  inbox_seq bigint not null default 0,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'delivery_failed')),
  chunk_total int not null check (chunk_total > 0),
  -- The next chunk to send.
  chunk int not null default 1,
  -- Attempts at that chunk.
  attempts int not null default 0,
  -- When the next attempt may begin; during an attempt, when it must be over.
  due_at timestamptz not null default now(),
  -- The process whose attempt `due_at` bounds; when it is surely gone, the claim is void. Null if no other process can tell
  -- when it has ended. Each connection of a process carries its name.
  claimed_by text default nullif(current_setting('troupe.process', true), ''),
  truncated boolean not null default false,
  -- The chunks and their destination, without any credential.
  sealed bytea not null,
  last_status int,
  last_error text,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  primary key (tenant_id, id),
  check ((status = 'pending') = (finished_at is null))
);
-- Two for a mail's execution that also has a callback: the mail's key is the id of the execution, the callback's is not.
create unique index deliveries_execution on deliveries (tenant_id, execution_id, key) where execution_id is not null;
-- By session first, for the same reason as trigger_inbox_session.
create index deliveries_line on deliveries (session_id, inbox_seq, seq) where status = 'pending';
-- By tenant first, for the same reason as trigger_inbox_due.
create index deliveries_due on deliveries (tenant_id, due_at) where status = 'pending';
-- Finds the messages written by hand of a session that is erased; answers are found by their executions.
create index deliveries_by_hand on deliveries (tenant_id, session_id) where execution_id is null;
create index deliveries_newest on deliveries (tenant_id, created_at desc, id desc);
create index deliveries_finished on deliveries (finished_at) where finished_at is not null;

create table delivery_attempts (
  tenant_id uuid not null,
  delivery_id uuid not null,
  number bigint generated always as identity,
  chunk int not null,
  attempt int not null,
  status_code int,
  error text,
  started_at timestamptz not null default now(),
  -- Null when the process died before the attempt ended.
  finished_at timestamptz,
  -- The caller's id for an attempt that began in a batch, fixed before the first try. A batch whose outcome was lost is
  -- written again, and its caller tells its own attempt from another process's by this. Null for an attempt that began
  -- outside a batch.
  claim uuid,
  primary key (tenant_id, delivery_id, number),
  foreign key (tenant_id, delivery_id) references deliveries (tenant_id, id) on delete cascade
);

-- The reply route of a session: how its last message came in. A message written by hand is sent the same way.
create table trigger_replies (
  tenant_id uuid not null references tenants (id) on delete cascade,
  session_id uuid not null,
  trigger_id uuid not null,
  sealed bytea not null,
  updated_at timestamptz not null default now(),
  primary key (tenant_id, session_id)
);
create index trigger_replies_age on trigger_replies (updated_at);

do $$
declare place text;
begin
  foreach place in array array['deliveries', 'delivery_attempts', 'trigger_replies'] loop
    execute format('alter table %I enable row level security', place);
    execute format('alter table %I force row level security', place);
    execute format('grant select, insert, update, delete on %I to troupe_app', place);
    execute format('create policy tenant on %I to troupe_app
      using (tenant_id = current_tenant()) with check (tenant_id = current_tenant())', place);
    -- Ends of messages and of attempts are written in batches of many tenants: one transaction each cost more than
    -- everything before them.
    execute format('grant select, insert, update, delete on %I to troupe_writer', place);
    execute format('create policy writer on %I to troupe_writer using (true) with check (true)', place);
  end loop;
end $$;

grant select on deliveries to troupe_directory;
create policy directory on deliveries for select to troupe_directory using (status = 'pending');
-- The claims of a process that is gone are void; the policy `reseal` lets them be changed.
grant update (due_at, claimed_by) on deliveries to troupe_directory;

-- Every node removes expired rows in small batches. The policies refuse the removal of younger rows.
grant select, delete on deliveries, trigger_replies to troupe_directory;
create policy forget on deliveries for delete to troupe_directory using (finished_at < now() - interval '30 days');
create policy forget on trigger_replies for delete to troupe_directory
  using (updated_at < now() - interval '365 days');

-- A rotation of the master key seals the rows of all tenants again.
grant update (sealed) on deliveries, trigger_replies to troupe_directory;
create policy reseal_read on deliveries for select to troupe_directory using (true);
create policy reseal on deliveries for update to troupe_directory using (true) with check (true);
create policy reseal_read on trigger_replies for select to troupe_directory using (true);
create policy reseal on trigger_replies for update to troupe_directory using (true) with check (true);
