-- What is left of a key whose row is gone (src/tenancy/keys): sums of its use are kept as long as its tenant, and name it.
create table ended_key_names (
  tenant_id uuid not null references tenants (id) on delete cascade,
  key_id uuid not null,
  name text not null,
  primary key (tenant_id, key_id)
);

alter table ended_key_names enable row level security;
alter table ended_key_names force row level security;

grant select on ended_key_names to troupe_app;
create policy tenant on ended_key_names to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

-- forget_keys() deletes and adds as the owner, for the transaction's tenant.
create policy owner on ended_key_names to current_user using (tenant_id = current_tenant());
create policy owner on api_keys to current_user using (tenant_id = current_tenant());
create policy owner on api_key_use to current_user using (tenant_id = current_tenant());
