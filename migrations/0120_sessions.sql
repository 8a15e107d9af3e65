-- Sessions, their messages, and executions from acceptance to outcome (src/conversations/sessions). The session's actor is
-- the only writer of these rows, under its fence, also in batches with rows of many tenants.
create table sessions (
  tenant_id uuid not null references tenants (id) on delete cascade,
  id uuid not null,
  agent_id uuid not null,
  slot int not null check (slot >= 0),
  consumer_key text,
  consumer_display_name text,
  -- Several people write in it, as in a thread of a channel: `consumer_key` is the first of them, all are in
  -- session_participants.
  has_several boolean not null default false,
  channel text not null,
  metadata jsonb not null default '{}',
  control_mode text not null default 'engaged' check (control_mode in ('engaged', 'manual_handoff')),
  control_kind text check (control_kind in ('suspend', 'handoff')),
  control_reason text,
  control_by text,
  control_since timestamptz,
  control_expires_at timestamptz,
  -- Raised by each change of the control mode: an answer made under an older number is not sent.
  control_epoch bigint not null default 0,
  -- The running summary, and the number of the last message that it covers.
  summary text,
  summary_to bigint not null default 0,
  last_arrival bigint not null default 0,
  last_message bigint not null default 0,
  total_turns bigint not null default 0,
  created_at timestamptz not null,
  last_interaction timestamptz not null,
  -- The caller that started the session, as {"kind", "id"}, see src/conversations/invocation/author.ts. Callers that may
  -- continue only their own sessions are compared with it. Null: only owners and admins continue the session.
  started_by jsonb,
  primary key (tenant_id, id),
  foreign key (tenant_id, agent_id) references agents (tenant_id, id) on delete cascade,
  check ((control_mode = 'engaged') = (control_kind is null)),
  check (control_expires_at is null or control_kind is not null)
);
create index sessions_newest on sessions (tenant_id, last_interaction desc, id desc);
create index sessions_consumer on sessions (tenant_id, consumer_key, last_interaction desc, id desc)
  where consumer_key is not null;
create index sessions_expiring on sessions (slot, control_expires_at) where control_expires_at is not null;
-- Each accepted message asks whether people took its session over; few sessions are. This index answers without reading
-- the session, and PostgreSQL chooses it even for a plan made while the table was empty. Without it such a plan walked
-- through the tenant's newest sessions until the first analyze: with five thousand sessions a batch of 60 messages took
-- 47 ms instead of 5.
create index sessions_taken_over on sessions (tenant_id, id) where control_mode <> 'engaged';

-- The people of the sessions in which several write. The trigger remove_messages_of_session removes the rows.
create table session_participants (
  tenant_id uuid not null,
  session_id uuid not null,
  consumer_key text not null,
  joined_at timestamptz not null,
  primary key (tenant_id, consumer_key, session_id)
);
create index session_participants_first on session_participants (tenant_id, session_id, joined_at);

-- No foreign keys from messages, steps and logs: the session's actor alone writes them, under its fence, and never before
-- the row that they belong to. A foreign key checked this again for each row of each turn; without statistics PostgreSQL
-- searched all executions of the tenant: half of its work for a turn, and growing. Triggers in functions/ remove the rows
-- with their session or execution.
create table messages (
  tenant_id uuid not null,
  session_id uuid not null,
  -- The position in the conversation, from 1.
  number bigint not null check (number > 0),
  id uuid not null,
  role text not null check (role in ('user', 'assistant')),
  content text not null,
  -- The context that the caller declared with the message, secrets redacted.
  declared_context jsonb,
  metadata jsonb not null default '{}',
  execution_id uuid,
  created_at timestamptz not null,
  -- The author, as {"kind", "id"}, see src/conversations/invocation/author.ts.
  author jsonb,
  -- The images and files, without their content (src/conversations/attachments).
  attachments jsonb not null default '[]',
  primary key (tenant_id, session_id, number)
);

-- The words of the transcripts. The tenant is one of the words, so that a frequent word of other tenants costs nothing. So
-- is the session, after a space, which no word has: a frequent word is sought among the newest sessions alone. The cut keeps
-- the longest text within what PostgreSQL takes as one list of words. Each search reads the whole list of rows that are not
-- in the index yet: with 4 MB, the default, that took 40 ms, with 512 kB it takes 9.
create index messages_words on messages using gin
  ((array_to_tsvector(array[tenant_id::text, 's ' || session_id::text]) || to_tsvector('simple', left(content, 200000))))
  with (gin_pending_list_limit = 512);

create table executions (
  tenant_id uuid not null references tenants (id) on delete cascade,
  id uuid not null,
  session_id uuid,
  agent_id uuid not null,
  agent_version int,
  trigger_id uuid,
  slot int not null check (slot >= 0),
  -- The position in the session's queue.
  arrival bigint not null,
  channel text not null,
  key_id uuid,
  user_id uuid,
  status text not null
    check (status in ('queued', 'running', 'waiting', 'completed', 'failed', 'timeout', 'cancelled', 'blocked')),
  outcome text check (outcome in ('COMPLETED', 'TIMEOUT', 'CANCELLED', 'FAILED', 'BLOCKED', 'SUSPENDED')),
  -- How many times a process began it.
  attempts int not null default 0,
  -- The process that began it last, and when another should check whether it still runs.
  worker text,
  due_at timestamptz not null,
  -- The caller that cancelled it, from the moment of the cancellation.
  cancelled_by text,
  -- The message and the values that travel with it. Values for tools only are sealed and removed with the outcome.
  input jsonb not null,
  sealed_input text,
  -- The bindings of a turn that waits, or waited, for people, sealed; removed with the outcome.
  sealed_bindings text,
  metadata jsonb not null default '{}',
  trace_id text generated always as (metadata ->> 'trace_id') stored,
  output text,
  blocks jsonb not null default '[]',
  -- The answer as a value, if it had to fit a schema.
  parsed jsonb,
  model text,
  provider text,
  usage jsonb,
  cost double precision not null default 0,
  latency_ms int,
  first_token_ms int,
  tool_calls int not null default 0,
  timeout_clock text check (timeout_clock in ('turn', 'first_signal', 'idle', 'call')),
  error jsonb,
  -- The state of the answer's delivery, when a trigger sends it; independent of `status`.
  delivery_status text not null default 'none'
    check (delivery_status in ('none', 'pending', 'delivered', 'delivery_failed')),
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  -- Whether an answer that its sender waited for was cut to the allowed chunks. For an answer that is sent by itself, its
  -- delivery has this.
  answer_cut boolean not null default false,
  primary key (tenant_id, id),
  check ((outcome is null) = (status in ('queued', 'running', 'waiting')))
);
create index executions_newest on executions (tenant_id, created_at desc, id desc);
create index executions_session on executions (tenant_id, session_id, arrival);
create index executions_trigger on executions (tenant_id, trigger_id, created_at desc) where trigger_id is not null;
create index executions_trace on executions (tenant_id, trace_id) where trace_id is not null;
create index executions_unfinished on executions (slot, due_at) where outcome is null;
-- Those that no session had; the erasure of a person looks through them.
create index executions_refused on executions (tenant_id, id) where arrival = 0;

-- What triggers have run, summed up to a moment. The sweep adds finished executions before it removes old ones.
create table triggered_totals (
  tenant_id uuid not null references tenants (id) on delete cascade,
  trigger_id uuid not null,
  total bigint not null,
  completed bigint not null,
  failed bigint not null,
  timeout bigint not null,
  -- Of the executions that have an answer time.
  latency_ms bigint not null,
  timed bigint not null,
  primary key (tenant_id, trigger_id)
);

-- Executions that were created before this are in the totals, all others are counted.
create table triggered_until (
  tenant_id uuid primary key references tenants (id) on delete cascade,
  summed_to timestamptz not null
);

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
  -- The call of a sub-agent, whose steps `detail` holds.
  is_sub_agent boolean generated always as (coalesce(detail ? 'steps', false)) stored,
  primary key (tenant_id, execution_id, number)
);
-- Reports on the tools of a period.
create index execution_steps_tools on execution_steps (tenant_id, started_at) where kind = 'tool';
create index execution_steps_sub_agents on execution_steps (tenant_id, started_at) where is_sub_agent;

-- Calls of tools that people decide on before they are made. The rows go with their execution.
create table approvals (
  tenant_id uuid not null,
  id uuid not null,
  session_id uuid not null,
  execution_id uuid not null,
  -- Which call of the turn: the same whenever the turn is replayed.
  place text not null,
  call_id text not null,
  tool text not null,
  -- JSON Schema of the arguments. The arguments themselves are sealed: those of the model, and those that a person wrote.
  parameters jsonb not null,
  sealed_arguments text not null,
  sealed_edit text,
  -- `voided`: the turn ended before anybody decided.
  status text not null check (status in ('pending', 'approved', 'denied', 'voided')),
  decided_by text,
  reason text,
  decided_at timestamptz,
  created_at timestamptz not null,
  -- Denied from then on.
  expires_at timestamptz not null,
  primary key (tenant_id, id)
);
create index approvals_newest on approvals (tenant_id, created_at desc, id desc);
create index approvals_execution on approvals (tenant_id, execution_id);
create index approvals_pending on approvals (tenant_id, session_id) where status = 'pending';

-- Executions that were erased before their end: what their processes record later is left out. Rows are kept for a day.
create table ended_by_erasure (
  tenant_id uuid not null,
  id uuid not null,
  -- The execution goes on, but began with a transcript that held messages of an erased person: the previews of its calls
  -- are left out.
  only_previews boolean not null default false,
  erased_at timestamptz not null default now(),
  primary key (tenant_id, id)
);
create index ended_by_erasure_age on ended_by_erasure (erased_at);

-- Erasures of large sessions, which go in batches: a node that dies leaves the rest to another one from `due_at` on.
create table begun_erasures (
  tenant_id uuid not null,
  session_id uuid not null,
  -- Who asked for it, as in the audit.
  actor text not null,
  due_at timestamptz not null,
  primary key (tenant_id, session_id)
);

-- The events of a finished turn, for readers that resume from the last event they saw.
create table execution_logs (
  tenant_id uuid not null,
  execution_id uuid not null,
  events jsonb not null,
  expires_at timestamptz not null,
  primary key (tenant_id, execution_id)
);
create index execution_logs_expiry on execution_logs (expires_at);

do $$
declare place text;
begin
  foreach place in array array['sessions', 'session_participants', 'messages', 'executions', 'execution_steps', 'execution_logs',
      'approvals', 'ended_by_erasure', 'begun_erasures', 'triggered_totals', 'triggered_until'] loop
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

-- sessions_with_words() and words_in_sessions() read as the owner of the tables: under a policy with a condition PostgreSQL
-- does not use the index of words, since comparing words is not leakproof. The functions themselves ask for the tenant.
do $$ begin
  execute format('create policy words on messages for select to %I using (true)', current_user);
end $$;

-- A new master key seals the values of all tenants again.
grant update (sealed_input, sealed_bindings) on executions to troupe_directory;
create policy reseal on executions for update to troupe_directory
  using (outcome is null) with check (outcome is null);
grant select, update (sealed_arguments, sealed_edit) on approvals to troupe_directory;
create policy directory on approvals to troupe_directory using (true) with check (true);

-- The search for the work of dead processes sees unfinished rows only.
grant select on executions to troupe_directory;
create policy directory on executions for select to troupe_directory using (outcome is null);
grant select on sessions to troupe_directory;
create policy directory on sessions for select to troupe_directory using (control_expires_at is not null);

-- Executions that go with their tenant are removed as the owner.
create policy owner on ended_by_erasure for insert to current_user with check (true);
-- Old rows are removed for all tenants in small batches.
grant select, delete on execution_logs, ended_by_erasure to troupe_directory;
grant select, update (due_at) on begun_erasures to troupe_directory;
create policy claim on begun_erasures to troupe_directory using (true) with check (true);
create policy forget on execution_logs to troupe_directory using (expires_at < now());
create policy forget on ended_by_erasure to troupe_directory using (erased_at < now() - interval '1 day');

-- Published for telemetry.
create view reports.executions with (security_invoker = true) as
  select tenant_id, id, session_id, agent_id, trigger_id, created_at, status, latency_ms from executions;
create view reports.execution_steps with (security_invoker = true) as
  select tenant_id, execution_id, number, kind, name, state, started_at, finished_at from execution_steps;
-- The steps of sub-agents, whatever their depth, with their agents; `agent` is the call that asked the agent. `called_at`
-- is the time of the execution's own step, which has an index.
create view reports.sub_agent_steps with (security_invoker = true) as
  select s.tenant_id, s.execution_id, s.number, s.started_at as called_at, c.*
  from execution_steps s cross join lateral (
    with recursive asked (name, call, started_at, finished_at, state) as (
      select s.name, s.detail, s.started_at, s.finished_at, s.state
      union all
      select step ->> 'name', step, (step ->> 'startedAt')::timestamptz, (step ->> 'finishedAt')::timestamptz,
        step ->> 'state'
      from asked, jsonb_array_elements(asked.call -> 'steps') step where step ? 'steps'
    )
    select (call ->> 'agentId')::uuid as agent_id, 'agent' as kind, name, state, started_at, finished_at from asked
    union all
    select (call ->> 'agentId')::uuid, step ->> 'kind', step ->> 'name', step ->> 'state',
      (step ->> 'startedAt')::timestamptz, (step ->> 'finishedAt')::timestamptz
    from asked, jsonb_array_elements(asked.call -> 'steps') step
  ) c
  where s.is_sub_agent and s.kind = 'tool';
grant select on reports.executions, reports.execution_steps, reports.sub_agent_steps to troupe_app;

-- Published for accepting and sending messages, in whose statements it is joined: the sessions whose agent is silent,
-- since people took them over or suspended them.
create view taken_over_sessions with (security_invoker = true) as
  select tenant_id, id from sessions
  where control_mode <> 'engaged' and (control_expires_at is null or control_expires_at > clock_timestamp());
grant select on taken_over_sessions to troupe_app, troupe_writer;

-- Published for lists of accepted messages, which leave out those that a session has received.
create view known_executions with (security_invoker = true) as select tenant_id, id from executions;
grant select on known_executions to troupe_app;

-- Published for what is recorded of an execution after its end: the executions that were erased before it.
create view erased_executions with (security_invoker = true) as
  select tenant_id, id from ended_by_erasure where not only_previews;
create view executions_without_previews with (security_invoker = true) as select tenant_id, id from ended_by_erasure;
grant select on erased_executions, executions_without_previews to troupe_app, troupe_writer;
