-- One row for each model call that was let in, whatever attempts it took, and for each answer that was given again.
create table calls (
  tenant_id uuid not null references tenants (id) on delete cascade,
  -- When its first attempt was opened; with the id it says which call this is.
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
  -- The model that was asked first; another than `model` where a later one of the chain answered.
  first_model text not null,
  -- `error`: no complete answer came. A caller who left is no error.
  status text not null check (status in ('success', 'error')),
  failure text,
  -- An earlier answer given again: nobody was asked.
  from_cache boolean not null,
  attempts int not null check (attempts >= 0),
  -- Of all attempts together; of an answer given again, those of the answer.
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

create index calls_session on calls (tenant_id, session_id, started_at) where session_id is not null;
create index calls_execution on calls (tenant_id, execution_id, started_at) where execution_id is not null;

alter table calls enable row level security;
alter table calls force row level security;

grant select on calls to troupe_app;
create policy tenant on calls to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
grant select, insert on calls to troupe_writer;
create policy writer on calls to troupe_writer using (true) with check (true);

-- The same by hours, added up as rows arrive, so that a dashboard over a month reads a few hundred rows.
create table call_hours (
  tenant_id uuid not null references tenants (id) on delete cascade,
  hour timestamptz not null,
  -- All zeros where no agent was at work.
  agent_id uuid not null,
  provider text not null,
  model text not null,
  call_source text not null,
  status text not null,
  calls bigint not null,
  -- Calls that reached a vendor.
  vendor_calls bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  response_time_ms double precision not null,
  -- From the response cache, or with input that the vendor had in its own.
  cache_hits bigint not null,
  cached_tokens bigint not null,
  cache_creation_tokens bigint not null,
  fallbacks bigint not null,
  primary key (tenant_id, hour, agent_id, provider, model, call_source, status)
)
-- Rows of the present hour change all the time: room to do so in place.
with (fillfactor = 50);

alter table call_hours enable row level security;
alter table call_hours force row level security;

grant select on call_hours to troupe_app;
create policy tenant on call_hours to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
grant select, insert, update on call_hours to troupe_writer;
create policy writer on call_hours to troupe_writer using (true) with check (true);

-- Makes the partitions of the month of `moment` and of the next three. Nodes call it at their start and then daily; a
-- row of a month that has none goes to the default partition. Two nodes at once wait for each other.
create function prepare_call_partitions(moment timestamptz) returns void
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  month timestamptz;
  partition text;
begin
  perform pg_advisory_xact_lock(hashtext('prepare_call_partitions'));
  for month in
    select m at time zone 'UTC'
    from generate_series(date_trunc('month', moment at time zone 'UTC'),
      date_trunc('month', moment at time zone 'UTC') + interval '3 months', interval '1 month') m
  loop
    partition := 'calls_' || to_char(month at time zone 'UTC', 'YYYY_MM');
    continue when to_regclass(partition) is not null;
    begin
      execute format('create table %I partition of calls for values from (%L) to (%L)',
        partition, month, (month at time zone 'UTC' + interval '1 month') at time zone 'UTC');
    exception when check_violation then
      -- The default partition has rows of that month already: they stay together there.
      continue;
    end;
    execute format('alter table %I enable row level security', partition);
    execute format('alter table %I force row level security', partition);
  end loop;
end
$$;
revoke execute on function prepare_call_partitions(timestamptz) from public;
grant execute on function prepare_call_partitions(timestamptz) to troupe_directory;

create table calls_default partition of calls default;
alter table calls_default enable row level security;
alter table calls_default force row level security;
select prepare_call_partitions(now());

-- Whose attempt it is, so that what a dead process left open can be closed, and told of, as the call that it was.
alter table usage_rows
  add column agent_id uuid,
  add column session_id uuid,
  add column execution_id uuid,
  add column process_id text;
