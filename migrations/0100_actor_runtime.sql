-- What the actor runtime keeps durably: the row of each actor with durable state, and the numbers of views.

-- The right to write for an actor. tenant_id is the runtime's group: the tenant, for the platform's actors.
create table actors (
  tenant_id uuid not null,
  kind text not null,
  key text not null,
  slot integer not null check (slot >= 0),
  -- Raised by each activation; an older activation can write no more.
  epoch bigint not null check (epoch > 0),
  -- Tells two activations apart to which a database gave one epoch, having failed over to a copy that lagged.
  activation_id text not null,
  -- Raised by each write of the activation.
  revision bigint not null check (revision >= 0),
  -- The process whose turn runs, and until when at most, by this server's clock.
  busy_process text,
  busy_until timestamptz,
  primary key (tenant_id, kind, key),
  check ((busy_process is null) = (busy_until is null))
)
-- Every durable write raises the revision: room for the new version on the same page spares the index.
with (fillfactor = 50);

alter table actors enable row level security;
alter table actors force row level security;
grant select, insert, update on actors to troupe_writer;
create policy writer on actors to troupe_writer using (true) with check (true);

-- Views are numbered here, so that a flushed member store cannot repeat a number. No tenant table.
create table cluster_views (
  cluster text primary key,
  last_number bigint not null check (last_number >= 0),
  -- The last number under which somebody set out to remove members that may confirm each other.
  seized_number bigint not null default 0 check (seized_number <= last_number)
);
grant select, insert, update on cluster_views to troupe_writer;
