-- Sessions, their messages, and executions: a turn from its acceptance to its outcome. The session's actor is the only
-- writer of these rows, under its fence, whatever it writes for many tenants in one batch.
create table sessions (
  tenant_id uuid not null references tenants (id) on delete cascade,
  id uuid not null,
  agent_id uuid not null,
  slot int not null check (slot >= 0),
  consumer_key text,
  consumer_display_name text,
  channel text not null,
  metadata jsonb not null default '{}',
  control_mode text not null default 'engaged' check (control_mode in ('engaged', 'manual_handoff')),
  control_kind text check (control_kind in ('suspend', 'handoff')),
  control_reason text,
  control_by text,
  control_since timestamptz,
  control_expires_at timestamptz,
  -- Raised by each change of the control mode: what was made under an older one is not sent any more.
  control_epoch bigint not null default 0,
  -- The running summary, and the number of the last message that it covers.
  summary text,
  summary_to bigint not null default 0,
  last_arrival bigint not null default 0,
  last_message bigint not null default 0,
  total_turns bigint not null default 0,
  created_at timestamptz not null,
  last_interaction timestamptz not null,
  primary key (tenant_id, id),
  foreign key (tenant_id, agent_id) references agents (tenant_id, id) on delete cascade,
  check ((control_mode = 'engaged') = (control_kind is null)),
  check (control_expires_at is null or control_kind is not null)
);
create index sessions_newest on sessions (tenant_id, last_interaction desc, id desc);
create index sessions_consumer on sessions (tenant_id, consumer_key, last_interaction desc, id desc)
  where consumer_key is not null;
create index sessions_expiring on sessions (slot, control_expires_at) where control_expires_at is not null;

create table messages (
  tenant_id uuid not null,
  session_id uuid not null,
  -- In the order of the conversation, from 1.
  number bigint not null check (number > 0),
  id uuid not null,
  role text not null check (role in ('user', 'assistant')),
  content text not null,
  -- What the caller declared beside the message, secrets redacted.
  declared_context jsonb,
  metadata jsonb not null default '{}',
  execution_id uuid,
  created_at timestamptz not null,
  primary key (tenant_id, session_id, number),
  foreign key (tenant_id, session_id) references sessions (tenant_id, id) on delete cascade
);

create table executions (
  tenant_id uuid not null references tenants (id) on delete cascade,
  id uuid not null,
  session_id uuid,
  agent_id uuid not null,
  agent_version int,
  trigger_id uuid,
  slot int not null check (slot >= 0),
  -- The place in its session's line.
  arrival bigint not null,
  channel text not null,
  key_id uuid,
  user_id uuid,
  status text not null
    check (status in ('queued', 'running', 'completed', 'failed', 'timeout', 'cancelled', 'blocked')),
  outcome text check (outcome in ('COMPLETED', 'TIMEOUT', 'CANCELLED', 'FAILED', 'BLOCKED', 'SUSPENDED')),
  -- How often a process has begun it.
  attempts int not null default 0,
  -- The process that began it last, and when somebody should look whether it still runs.
  worker text,
  due_at timestamptz not null,
  -- Who cancelled it, as soon as that is so.
  cancelled_by text,
  -- The message and what travels with it; what tools alone may read is sealed, and gone with the outcome.
  input jsonb not null,
  sealed_input text,
  metadata jsonb not null default '{}',
  trace_id text generated always as (metadata ->> 'trace_id') stored,
  output text,
  blocks jsonb not null default '[]',
  model text,
  provider text,
  usage jsonb,
  cost double precision not null default 0,
  latency_ms int,
  first_token_ms int,
  tool_calls int not null default 0,
  timeout_clock text check (timeout_clock in ('turn', 'first_signal', 'idle', 'call')),
  error jsonb,
  -- Of the answer's way out, where a trigger sends it; apart from the status.
  delivery_status text not null default 'none'
    check (delivery_status in ('none', 'pending', 'delivered', 'delivery_failed')),
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  primary key (tenant_id, id),
  check ((outcome is null) = (status in ('queued', 'running')))
);
create index executions_newest on executions (tenant_id, created_at desc, id desc);
create index executions_session on executions (tenant_id, session_id, arrival);
create index executions_trigger on executions (tenant_id, trigger_id, created_at desc) where trigger_id is not null;
create index executions_trace on executions (tenant_id, trace_id) where trace_id is not null;
create index executions_unfinished on executions (slot, due_at) where outcome is null;

create table execution_steps (
  tenant_id uuid not null,
  execution_id uuid not null,
  number int not null check (number > 0),
  kind text not null check (kind in ('intent', 'model', 'tool')),
  name text not null,
  state text not null check (state in ('started', 'finished', 'failed', 'timeout')),
  detail jsonb,
  started_at timestamptz not null,
  finished_at timestamptz,
  primary key (tenant_id, execution_id, number),
  foreign key (tenant_id, execution_id) references executions (tenant_id, id) on delete cascade
);

-- What readers of a finished turn may still ask for, from the event that they have seen last.
create table execution_logs (
  tenant_id uuid not null,
  execution_id uuid not null,
  events jsonb not null,
  expires_at timestamptz not null,
  primary key (tenant_id, execution_id),
  foreign key (tenant_id, execution_id) references executions (tenant_id, id) on delete cascade
);
create index execution_logs_expiry on execution_logs (expires_at);

do $$
declare place text;
begin
  foreach place in array array['sessions', 'messages', 'executions', 'execution_steps', 'execution_logs'] loop
    execute format('alter table %I enable row level security', place);
    execute format('alter table %I force row level security', place);
    execute format('grant select, insert, update, delete on %I to troupe_app', place);
    execute format('create policy tenant on %I to troupe_app
      using (tenant_id = current_tenant()) with check (tenant_id = current_tenant())', place);
    -- Actors of many tenants write in one batch, each under its own fence.
    execute format('grant select, insert, update, delete on %I to troupe_writer', place);
    execute format('create policy writer on %I to troupe_writer using (true) with check (true)', place);
  end loop;
end $$;

-- Whoever finds what a process left behind sees only what is unfinished.
grant select on executions to troupe_directory;
create policy directory on executions for select to troupe_directory using (outcome is null);
grant select on sessions to troupe_directory;
create policy directory on sessions for select to troupe_directory using (control_expires_at is not null);
