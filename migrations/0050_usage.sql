-- One row for each attempt at a vendor: written before the vendor is asked, completed before the answer ends.
create table usage_rows (
  tenant_id uuid not null references tenants (id) on delete cascade,
  attempt_id uuid not null,
  -- Attempts of one call share it; they are numbered from 1.
  call_id uuid not null,
  attempt_number int not null check (attempt_number > 0),
  -- What the call was for: a direct call, a turn of an agent, …
  source text not null,
  key_id uuid,
  user_id uuid,
  vendor text not null,
  model text not null,
  payer text not null check (payer in ('platform', 'tenant')),
  -- The month of the quota that it counts in: that of its beginning, whenever it ends.
  month date not null check (extract(day from month) = 1),
  opened_at timestamptz not null,
  -- Later than this nobody works on it any more, and what is still open is closed with the estimate.
  deadline_at timestamptz not null,
  input_estimate bigint not null check (input_estimate >= 0),
  output_estimate bigint not null check (output_estimate >= 0),
  cost_estimate double precision not null check (cost_estimate >= 0),

  -- Null while the attempt is open.
  outcome text check (outcome in ('completed', 'failed', 'timeout', 'cancelled', 'orphaned')),
  closed_at timestamptz,
  input_tokens bigint not null default 0 check (input_tokens >= 0),
  -- Parts of the input that vendors price apart.
  cache_read_tokens bigint not null default 0 check (cache_read_tokens >= 0),
  cache_write_tokens bigint not null default 0 check (cache_write_tokens >= 0),
  output_tokens bigint not null default 0 check (output_tokens >= 0),
  -- The part of the output that nobody sees.
  reasoning_tokens bigint not null default 0 check (reasoning_tokens >= 0),
  cost double precision not null default 0 check (cost >= 0),
  usage_source text check (usage_source in ('reported', 'estimated', 'reconciled')),
  stop_reason text,
  failure text,
  vendor_request_id text,
  first_signal_ms double precision,
  duration_ms double precision,
  primary key (tenant_id, attempt_id),
  check ((outcome is null) = (closed_at is null)),
  check ((outcome is null) = (usage_source is null))
);

create index usage_rows_open on usage_rows (deadline_at) where outcome is null;
create index usage_rows_time on usage_rows (tenant_id, opened_at);

alter table usage_rows enable row level security;
alter table usage_rows force row level security;

grant select on usage_rows to troupe_app;
create policy tenant on usage_rows to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

-- Rows of many tenants are opened and closed in one batch.
grant select, insert, update on usage_rows to troupe_writer;
create policy writer on usage_rows to troupe_writer using (true) with check (true);

-- Whoever closes what a dead process left open sees only that.
grant select on usage_rows to troupe_directory;
create policy directory on usage_rows for select to troupe_directory using (outcome is null);
