-- Durable state of the actor runtime (cluster/fencing): the fence of each actor with durable state, and the numbers of
-- views.

-- The right to write for an actor. tenant_id is the runtime's group: for the platform's actors, the tenant.
create table actors (
  tenant_id uuid not null,
  kind text not null,
  key text not null,
  slot integer not null check (slot >= 0),
  -- Raised by each activation; writes of an older activation are refused.
  epoch bigint not null check (epoch > 0),
  -- Tells apart two activations that got one epoch, when the database failed over to a copy that lagged.
  activation_id text not null,
  -- Raised by each write of the activation.
  revision bigint not null check (revision >= 0),
  -- The busy stamp: the process whose turn runs, and its deadline by this server's clock.
  busy_process text,
  busy_until timestamptz,
  primary key (tenant_id, kind, key),
  check ((busy_process is null) = (busy_until is null))
)
-- Every durable write raises the revision. Free space for the new version on the same page avoids index writes.
with (fillfactor = 50);

alter table actors enable row level security;
alter table actors force row level security;
grant select, insert, update on actors to troupe_writer;
create policy writer on actors to troupe_writer using (true) with check (true);
-- forget_fences deletes the rows of a deleted tenant, as the owner.
create policy owner on actors to current_user using (tenant_id = current_tenant());

-- Views are numbered here, so that a flushed Redis cannot repeat a number. Not a tenant table.
create table cluster_views (
  cluster text primary key,
  last_number bigint not null check (last_number >= 0),
  -- The number of the last seizure: the removal of members that may still confirm each other.
  seized_number bigint not null default 0 check (seized_number <= last_number)
);
grant select, insert, update on cluster_views to troupe_writer;

-- The generations of Redis in the order of their first use: leases count only in the newest. One row for each start,
-- flush or failover of Redis. Running processes keep used_at of the newest young. Not a tenant table.
create table cluster_generations (
  cluster text not null,
  mark text not null,
  number bigint not null,
  used_at timestamptz not null default now(),
  primary key (cluster, mark),
  unique (cluster, number)
);
grant select, insert, update on cluster_generations to troupe_writer;
