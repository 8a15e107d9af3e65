-- Quotas (src/tenancy/quota): model calls granted by day and by key, tokens used by month, tokens reserved.

-- Model calls of a tenant by day, and of a key over its life. Nodes book blocks here before they grant calls from them.
create table work_counts (
  tenant_id uuid not null references tenants (id) on delete cascade,
  kind text not null check (kind in ('day', 'key')),
  -- The day, as 2026-11-21, or the id of the key.
  subject text not null,
  granted bigint not null check (granted >= 0),
  -- The size of the last booked block; only the booking itself reads it.
  last_block bigint not null,
  primary key (tenant_id, kind, subject)
);

-- Tokens of the tenant's calls by calendar month (UTC); `month` is its first day.
create table quota_months (
  tenant_id uuid not null references tenants (id) on delete cascade,
  month date not null check (extract(day from month) = 1),
  used bigint not null check (used >= 0),
  primary key (tenant_id, month)
);

-- The most tokens that a tenant's quota actor may have reserved, committed before it reserves them. After the actor's
-- node dies, this bounds the tokens of calls under way and says until when the last of them can run.
create table token_holds (
  tenant_id uuid not null references tenants (id) on delete cascade,
  held bigint not null check (held >= 0),
  held_until timestamptz not null,
  -- The epoch of the activation that holds the tokens.
  epoch bigint not null check (epoch > 0),
  -- An activation has reserved costs, and has not ended in order since.
  reserves_costs boolean not null default false,
  primary key (tenant_id)
);

alter table work_counts enable row level security;
alter table work_counts force row level security;
alter table quota_months enable row level security;
alter table quota_months force row level security;
alter table token_holds enable row level security;
alter table token_holds force row level security;

grant select, insert, update, delete on work_counts to troupe_app;
create policy tenant on work_counts to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

grant select, insert, update on quota_months to troupe_app;
create policy tenant on quota_months to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

grant select, insert, update on token_holds to troupe_app;
create policy tenant on token_holds to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

-- The usage of many tenants, and the blocks and holds of their quota actors, are written in batches.
grant select, insert, update, delete on work_counts to troupe_writer;
create policy writer on work_counts to troupe_writer using (true) with check (true);
grant select, insert, update on quota_months to troupe_writer;
create policy writer on quota_months to troupe_writer using (true) with check (true);
grant select, insert, update on token_holds to troupe_writer;
create policy writer on token_holds to troupe_writer using (true) with check (true);
