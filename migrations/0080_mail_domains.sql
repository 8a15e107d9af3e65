-- Domains that tenants may send mail from (src/tenancy/mail-domains). A tenant proves a domain by a TXT record with the
-- row's token. Each row has a new token, so that the record of a former owner proves nothing.
create table mail_domains (
  tenant_id uuid not null references tenants (id) on delete cascade,
  id uuid not null,
  -- In lower case, as in DNS.
  domain text not null,
  token text not null,
  verified_at timestamptz,
  created_by text not null,
  created_at timestamptz not null,
  primary key (tenant_id, id),
  unique (tenant_id, domain)
);
-- The first tenant that proves a domain holds it until it removes the domain.
create unique index mail_domains_proved on mail_domains (domain) where verified_at is not null;

alter table mail_domains enable row level security;
alter table mail_domains force row level security;

grant select, insert, update, delete on mail_domains to troupe_app;
create policy tenant on mail_domains to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
-- An arriving mail names an address; its domain gives the tenant.
grant select on mail_domains to troupe_directory;
create policy directory on mail_domains for select to troupe_directory using (true);
