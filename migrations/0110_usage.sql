-- The ledger and the calls (src/models/usage).

-- The ledger: one row per attempt at a vendor, written before the vendor is asked and completed before the answer ends.
create table usage_rows (
  tenant_id uuid not null references tenants (id) on delete cascade,
  attempt_id uuid not null,
  -- Shared by the attempts of one call, which are numbered from 1.
  call_id uuid not null,
  attempt_number int not null check (attempt_number > 0),
  -- The origin of the call: a direct call, a turn of an agent, …
  source text not null,
  key_id uuid,
  user_id uuid,
  vendor text not null,
  model text not null,
  payer text not null check (payer in ('platform', 'tenant')),
  -- The month of the quota that the attempt counts in: the month of its beginning, whenever it ends.
  month date not null check (extract(day from month) = 1),
  opened_at timestamptz not null,
  -- After this time no process works on the attempt, and a row that is still open is closed with the estimate.
  deadline_at timestamptz not null,
  input_estimate bigint not null check (input_estimate >= 0),
  output_estimate bigint not null check (output_estimate >= 0),
  cost_estimate double precision not null check (cost_estimate >= 0),

  -- Null while the attempt is open.
  outcome text check (outcome in ('completed', 'failed', 'timeout', 'cancelled', 'orphaned')),
  closed_at timestamptz,
  input_tokens bigint not null default 0 check (input_tokens >= 0),
  -- Parts of the input that vendors price separately.
  cache_read_tokens bigint not null default 0 check (cache_read_tokens >= 0),
  cache_write_tokens bigint not null default 0 check (cache_write_tokens >= 0),
  output_tokens bigint not null default 0 check (output_tokens >= 0),
  -- The part of the output that is not shown.
  reasoning_tokens bigint not null default 0 check (reasoning_tokens >= 0),
  cost double precision not null default 0 check (cost >= 0),
  usage_source text check (usage_source in ('reported', 'estimated', 'reconciled')),
  stop_reason text,
  failure text,
  vendor_request_id text,
  first_signal_ms double precision,
  duration_ms double precision,

  -- The origin of the attempt: after a process dies, its open attempts are closed and recorded as the calls they were.
  agent_id uuid,
  session_id uuid,
  execution_id uuid,
  process_id text,
  primary key (tenant_id, attempt_id),
  check ((outcome is null) = (closed_at is null)),
  check ((outcome is null) = (usage_source is null))
);

create index usage_rows_open on usage_rows (deadline_at) where outcome is null;
create index usage_rows_time on usage_rows (tenant_id, opened_at);
-- Closed attempts whose call may not be recorded yet: all but those that completed at the first attempt, which are closed
-- and recorded in one statement. A small index, and a row enters it only when it is closed.
create index usage_rows_maybe_untold on usage_rows (deadline_at)
  where outcome is not null and (outcome <> 'completed' or attempt_number > 1);

alter table usage_rows enable row level security;
alter table usage_rows force row level security;

grant select, delete on usage_rows to troupe_app;
create policy tenant on usage_rows to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

-- Rows of many tenants are opened and closed in one batch.
grant select, insert, update on usage_rows to troupe_writer;
create policy writer on usage_rows to troupe_writer using (true) with check (true);

-- The search for attempts of dead processes sees open rows only.
grant select on usage_rows to troupe_directory;
create policy directory on usage_rows for select to troupe_directory using (outcome is null);

-- One row per admitted model call, whatever attempts it took, and per answer that was served from the cache. One
-- partition per month (UTC); prepare_call_partitions() creates them.
create table calls (
  tenant_id uuid not null references tenants (id) on delete cascade,
  -- When the first attempt was opened. With call_id it identifies the call.
  started_at timestamptz not null,
  call_id uuid not null,
  key_id uuid,
  user_id uuid,
  agent_id uuid,
  session_id uuid,
  execution_id uuid,
  call_source text not null,
  provider text not null,
  model text not null,
  -- The model that was asked first. It differs from `model` when a later model of the chain answered.
  first_model text not null,
  -- `error`: no complete answer came. A caller that disconnects is not an error.
  status text not null check (status in ('success', 'error')),
  failure text,
  -- The answer came from the response cache; no vendor was asked.
  from_cache boolean not null,
  attempts int not null check (attempts >= 0),
  -- Sums over all attempts; for an answer from the cache, the figures of that answer.
  input_tokens bigint not null check (input_tokens >= 0),
  output_tokens bigint not null check (output_tokens >= 0),
  cached_tokens bigint not null check (cached_tokens >= 0),
  cache_creation_tokens bigint not null check (cache_creation_tokens >= 0),
  cost double precision not null check (cost >= 0),
  response_time_ms double precision not null check (response_time_ms >= 0),
  input_preview text not null,
  output_preview text not null,
  primary key (tenant_id, started_at, call_id)
) partition by range (started_at);

-- For the partial hours of the operator's report, which names no tenant: a few pages for a partition.
create index calls_time on calls using brin (started_at);
-- With the agent, so that sessions of a range are counted without reading their calls.
create index calls_session on calls (tenant_id, session_id, started_at) include (agent_id) where session_id is not null;
create index calls_execution on calls (tenant_id, execution_id, started_at) where execution_id is not null;

alter table calls enable row level security;
alter table calls force row level security;

create table calls_default partition of calls default;
alter table calls_default enable row level security;
alter table calls_default force row level security;

-- The sweep blanks previews and deletes rows that are kept no longer.
grant select, update (input_preview, output_preview), delete on calls to troupe_app;
create policy tenant on calls to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
-- The operator's report reads the partial hours of all tenants; the previews stay theirs.
grant select (tenant_id, started_at, provider, model, input_tokens, output_tokens, cost) on calls to troupe_directory;
create policy directory on calls for select to troupe_directory using (true);
grant select, insert, update (input_preview, output_preview) on calls to troupe_writer;
create policy writer on calls to troupe_writer using (true) with check (true);

-- Until when the previews of a tenant's calls are blanked: the sweep does not read all of them again each hour.
create table blanked_previews (
  tenant_id uuid primary key references tenants (id) on delete cascade,
  blanked_to timestamptz not null
);
alter table blanked_previews enable row level security;
alter table blanked_previews force row level security;
grant select, insert, update on blanked_previews to troupe_app;
create policy tenant on blanked_previews to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

-- Counts answer times in 41 buckets: bucket 0 up to 1 ms, each further one to √2 times the bound before, the last without
-- a bound (from 0.72 million ms on). A histogram is one number with twelve decimal digits for each bucket, the lowest digits for bucket 0, so
-- that a sum of numbers is the sum of the histograms. The histogram of one time. Created here: a view needs it.
create function latency_count(ms double precision) returns numeric
  language sql immutable strict parallel safe
  return power(1000000000000::numeric,
    case when ms <= 1 then 0 else least(40, ceil(2 * ln(ms) / ln(2::double precision))::int) end)::numeric(504, 0);

-- Sums of calls and of attempts by hour, updated as they arrive. The cost is a decimal:
-- sums of doubles depend on the order of the rows.
create table call_hours (
  tenant_id uuid not null references tenants (id) on delete cascade,
  hour timestamptz not null,
  -- All zeros for calls without an agent, a key or a user.
  agent_id uuid not null,
  key_id uuid not null,
  user_id uuid not null,
  provider text not null,
  model text not null,
  call_source text not null,
  -- `none` for calls that were recorded apart from their attempts.
  payer text not null,
  status text not null,
  -- Empty for a success.
  failure text not null,

  -- Calls, by the hour of their beginning.
  calls bigint not null,
  -- Calls that reached a vendor.
  vendor_calls bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cost numeric not null,
  response_time_ms double precision not null,
  -- A histogram, see latency_count().
  latency numeric not null,
  -- Calls answered from the response cache, or with input from the vendor's cache.
  cache_hits bigint not null,
  cached_tokens bigint not null,
  cache_creation_tokens bigint not null,
  fallbacks bigint not null,

  -- Closed rows of the ledger, by the hour of their opening. A call counts with its first attempt.
  ledger_calls bigint not null,
  ledger_input_tokens bigint not null,
  ledger_output_tokens bigint not null,
  ledger_cost numeric not null,
  primary key (tenant_id, hour, agent_id, key_id, user_id, provider, model, call_source, payer, status, failure)
)
-- Rows of the current hour change all the time; free space on the page lets them change in place.
with (fillfactor = 50);

alter table call_hours enable row level security;
alter table call_hours force row level security;

grant select, delete on call_hours to troupe_app;
create policy tenant on call_hours to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
-- The operator's report sums all tenants.
grant select on call_hours to troupe_directory;
create policy directory on call_hours for select to troupe_directory using (true);
grant select, insert, update on call_hours to troupe_writer;
create policy writer on call_hours to troupe_writer using (true) with check (true);

-- The same sums once more, over days (UTC) that are over: reports over a year read these. Nothing is written here while
-- calls arrive. sum_call_days() adds up the hours of days that ended two days ago, once for each day and tenant, and
-- writes until when it has; what arrives for such a day later, add_late_hour() adds.
create table summed_days (
  tenant_id uuid primary key references tenants (id) on delete cascade,
  -- Days before this midnight are read from the sums by day, all others from call_hours.
  summed_to timestamptz not null
);

-- Calls, for telemetry.
create table call_days (
  tenant_id uuid not null references tenants (id) on delete cascade,
  day timestamptz not null,
  agent_id uuid not null,
  provider text not null,
  model text not null,
  call_source text not null,
  status text not null,
  failure text not null,
  calls bigint not null,
  vendor_calls bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cost numeric not null,
  response_time_ms double precision not null,
  latency numeric not null,
  cache_hits bigint not null,
  cached_tokens bigint not null,
  cache_creation_tokens bigint not null,
  fallbacks bigint not null,
  primary key (tenant_id, day, agent_id, provider, model, call_source, status, failure)
);

-- Closed rows of the ledger, for billing.
create table ledger_days (
  tenant_id uuid not null references tenants (id) on delete cascade,
  day timestamptz not null,
  agent_id uuid not null,
  key_id uuid not null,
  user_id uuid not null,
  model text not null,
  call_source text not null,
  payer text not null,
  calls bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cost numeric not null,
  primary key (tenant_id, day, agent_id, key_id, user_id, model, call_source, payer)
);

-- Calls of each hour of those days, for the dashboard, which lists every hour.
create table hour_totals (
  tenant_id uuid not null references tenants (id) on delete cascade,
  hour timestamptz not null,
  calls bigint not null,
  tokens bigint not null,
  cost numeric not null,
  primary key (tenant_id, hour)
);

do $$
declare place text;
begin
  foreach place in array array['summed_days', 'call_days', 'ledger_days', 'hour_totals'] loop
    execute format('alter table %I enable row level security', place);
    execute format('alter table %I force row level security', place);
    execute format('grant select, insert, update on %I to troupe_app, troupe_writer', place);
    -- With a tenant that is deleted.
    execute format('grant delete on %I to troupe_app', place);
    execute format('create policy tenant on %I to troupe_app
      using (tenant_id = current_tenant()) with check (tenant_id = current_tenant())', place);
    execute format('create policy writer on %I to troupe_writer using (true) with check (true)', place);
  end loop;
end $$;

-- Published for telemetry.
create view reports.calls with (security_invoker = true) as
  select tenant_id, started_at, call_id, user_id, agent_id, session_id, execution_id, call_source, provider, model,
    first_model, status, failure, from_cache, input_tokens, output_tokens, cached_tokens, cache_creation_tokens, cost,
    response_time_ms, latency_count(response_time_ms) as latency, input_preview, output_preview
  from calls;
-- The attempts of the calls of a turn, of the last months.
create view reports.attempts with (security_invoker = true) as
  select tenant_id, opened_at, call_id, attempt_number, execution_id, vendor, model, payer, outcome, failure, stop_reason,
    input_tokens, output_tokens, cache_read_tokens, cost, first_signal_ms, duration_ms
  from usage_rows;
create view reports.call_hours with (security_invoker = true) as
  select tenant_id, hour, agent_id, provider, model, call_source, status, failure, calls, vendor_calls, input_tokens,
    output_tokens, cost, response_time_ms, latency, cache_hits, cached_tokens, cache_creation_tokens, fallbacks
  from call_hours;
create view reports.summed_days with (security_invoker = true) as select tenant_id, summed_to from summed_days;
create view reports.call_days with (security_invoker = true) as
  select tenant_id, day, agent_id, provider, model, call_source, status, failure, calls, vendor_calls, input_tokens,
    output_tokens, cost, response_time_ms, latency, cache_hits, cached_tokens, cache_creation_tokens, fallbacks
  from call_days;
create view reports.hour_totals with (security_invoker = true) as
  select tenant_id, hour, calls, tokens, cost from hour_totals;
grant select on reports.calls, reports.attempts, reports.call_hours, reports.summed_days, reports.call_days, reports.hour_totals
  to troupe_app;
