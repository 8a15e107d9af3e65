-- What agents with a memory know of a person, over all sessions. The newest list is the whole one.
create table consumer_facts (
  tenant_id uuid not null references tenants (id) on delete cascade,
  consumer_key text not null check (length(consumer_key) between 1 and 255),
  facts jsonb not null check (jsonb_typeof(facts) = 'array'),
  updated_at timestamptz not null,
  primary key (tenant_id, consumer_key)
);
alter table consumer_facts enable row level security;
alter table consumer_facts force row level security;
grant select, insert, update, delete on consumer_facts to troupe_app;
create policy tenant on consumer_facts to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
grant select, insert, update on consumer_facts to troupe_writer;
create policy writer on consumer_facts to troupe_writer using (true) with check (true);
