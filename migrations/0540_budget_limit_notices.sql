-- The thresholds that owners were told of, for each limit of a budget (src/tenancy/quota): a raised budget has thresholds of
-- its own. Nodes of version 0.1 read and write `budget_notices` alone, which does not know the limit, so each notice has a
-- row in both tables.
create table budget_limit_notices (
  tenant_id uuid not null references tenants (id) on delete cascade,
  scope text not null check (scope in ('key', 'tenant', 'agent')),
  subject uuid not null,
  period text not null check (period in ('day', 'month')),
  starts date not null,
  percent smallint not null check (percent in (80, 100)),
  -- In billionths of a dollar.
  limit_nanos bigint not null check (limit_nanos >= 0),
  primary key (tenant_id, scope, subject, period, starts, percent, limit_nanos)
);

alter table budget_limit_notices enable row level security;
alter table budget_limit_notices force row level security;

grant select, insert, delete on budget_limit_notices to troupe_app;
create policy tenant on budget_limit_notices to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
