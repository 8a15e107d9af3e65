-- Tokens that a tenant's quota actor may have reserved at a time, committed before it reserves them: what an owner that
-- died knew of calls under way, at most, and until when the last of them can go on.
create table token_holds (
  tenant_id uuid not null references tenants (id) on delete cascade,
  held bigint not null check (held >= 0),
  held_until timestamptz not null,
  -- The activation that holds them.
  epoch bigint not null check (epoch > 0),
  primary key (tenant_id)
);

alter table token_holds enable row level security;
alter table token_holds force row level security;
grant select, insert, update on token_holds to troupe_app;
create policy tenant on token_holds to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
grant select, insert, update on token_holds to troupe_writer;
create policy writer on token_holds to troupe_writer using (true) with check (true);

-- Blocks are booked by the quota actors, many tenants in one batch.
grant select, insert, update, delete on work_counts to troupe_writer;
create policy writer on work_counts to troupe_writer using (true) with check (true);
