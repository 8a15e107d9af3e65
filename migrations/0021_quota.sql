-- Model work by tenant and day, and by key over its life. Nodes book blocks here ahead of granting them.
create table work_counts (
  tenant_id uuid not null references tenants (id) on delete cascade,
  kind text not null check (kind in ('day', 'key')),
  -- The day, as 2026-11-21, or the id of the key.
  subject text not null,
  granted bigint not null check (granted >= 0),
  -- How much the last booking got; only that booking reads it.
  last_block bigint not null,
  primary key (tenant_id, kind, subject)
);

-- Tokens of the tenant's calls by calendar month of UTC, as its first day.
create table quota_months (
  tenant_id uuid not null references tenants (id) on delete cascade,
  month date not null check (extract(day from month) = 1),
  used bigint not null check (used >= 0),
  primary key (tenant_id, month)
);

alter table work_counts enable row level security;
alter table work_counts force row level security;
alter table quota_months enable row level security;
alter table quota_months force row level security;

grant select, insert, update, delete on work_counts to troupe_app;
create policy tenant on work_counts to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

grant select, insert, update on quota_months to troupe_app;
create policy tenant on quota_months to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

-- Usage of many tenants is booked in one batch.
grant select, insert, update on quota_months to troupe_writer;
create policy writer on quota_months to troupe_writer using (true) with check (true);
