-- What model calls cost, for budgets (src/tenancy/quota). Amounts are billionths of a dollar, so that sums are exact.

-- One row for each key, agent and day (UTC) of a tenant. Calls without a key or an agent have the id of zeros.
create table spent_costs (
  tenant_id uuid not null references tenants (id) on delete cascade,
  day date not null,
  key_id uuid not null,
  agent_id uuid not null,
  nanos bigint not null check (nanos >= 0),
  primary key (tenant_id, day, key_id, agent_id)
);

-- The thresholds that owners were told of, once for each period of a budget.
create table budget_notices (
  tenant_id uuid not null references tenants (id) on delete cascade,
  scope text not null check (scope in ('key', 'tenant', 'agent')),
  subject uuid not null,
  period text not null check (period in ('day', 'month')),
  starts date not null,
  percent smallint not null check (percent in (80, 100)),
  primary key (tenant_id, scope, subject, period, starts, percent)
);

alter table spent_costs enable row level security;
alter table spent_costs force row level security;
alter table budget_notices enable row level security;
alter table budget_notices force row level security;

grant select, insert, update, delete on spent_costs to troupe_app;
create policy tenant on spent_costs to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
grant select, insert, delete on budget_notices to troupe_app;
create policy tenant on budget_notices to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

-- The costs of many tenants are written in batches, together with the rows of their calls.
grant select, insert, update on spent_costs to troupe_writer;
create policy writer on spent_costs to troupe_writer using (true) with check (true);
