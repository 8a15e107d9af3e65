-- Consumers, with the tenant's denylist, and the facts that agents remember of them (src/conversations/consumers).

-- A person that an integration names by consumer_key, over all sessions. The numbers of sessions and turns are counted
-- from the sessions. touch_consumers() records who came.
create table consumers (
  tenant_id uuid not null references tenants (id) on delete cascade,
  consumer_key text not null check (length(consumer_key) between 1 and 255),
  display_name text,
  -- A declared name replaces any name; an inferred name only fills an empty one.
  name_source text check (name_source in ('declared', 'inferred')),
  channels text[] not null default '{}',
  -- Null for a consumer that was denied before the first session.
  first_seen timestamptz,
  -- May be a minute old: rewriting the row for every turn costs more than it is worth.
  last_seen timestamptz,
  -- The order of lists: when the consumer was last seen or, if never seen, denied.
  latest_at timestamptz not null,
  blocked boolean not null default false,
  blocked_reason text,
  blocked_by text,
  blocked_at timestamptz,
  primary key (tenant_id, consumer_key),
  check ((display_name is null) = (name_source is null)),
  check (blocked = (blocked_at is not null)),
  check (blocked or (blocked_reason is null and blocked_by is null))
);
create index consumers_latest on consumers (tenant_id, latest_at desc, consumer_key);
create index consumers_blocked on consumers (tenant_id, blocked_at desc, consumer_key) where blocked;

-- The facts that agents with memory know of a consumer, over all sessions. The newest list replaces the one before.
create table consumer_facts (
  tenant_id uuid not null references tenants (id) on delete cascade,
  consumer_key text not null check (length(consumer_key) between 1 and 255),
  facts jsonb not null check (jsonb_typeof(facts) = 'array'),
  updated_at timestamptz not null,
  primary key (tenant_id, consumer_key)
);

alter table consumers enable row level security;
alter table consumers force row level security;
alter table consumer_facts enable row level security;
alter table consumer_facts force row level security;

grant select, insert, update, delete on consumers, consumer_facts to troupe_app;
create policy tenant on consumers to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
create policy tenant on consumer_facts to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

-- Sessions of many tenants record their consumers and facts in one batch.
grant select, insert, update on consumers, consumer_facts to troupe_writer;
create policy writer on consumers to troupe_writer using (true) with check (true);
create policy writer on consumer_facts to troupe_writer using (true) with check (true);
