-- Answers on their way out: one row for an execution's answer, or a message written by hand, in chunks that are sent one
-- after the other.
create table deliveries (
  tenant_id uuid not null references tenants (id) on delete cascade,
  id uuid not null,
  -- The order within a session.
  seq bigint generated always as identity,
  session_id uuid not null,
  trigger_id uuid not null,
  -- Null for a message written by hand.
  execution_id uuid,
  -- What the keys of its chunks begin with.
  key text not null,
  -- The message of the inbox that it answers: older ones of the session are answered first.
  inbox_seq bigint not null default 0,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'delivery_failed')),
  chunk_total int not null check (chunk_total > 0),
  -- The one to be sent next.
  chunk int not null default 1,
  -- At that chunk.
  attempts int not null default 0,
  -- When the next attempt may begin; while one is made, when it must be over.
  due_at timestamptz not null default now(),
  truncated boolean not null default false,
  -- The chunks and where they go, without any credential.
  sealed bytea not null,
  last_status int,
  last_error text,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  primary key (tenant_id, id),
  check ((status = 'pending') = (finished_at is null))
);
create unique index deliveries_execution on deliveries (tenant_id, execution_id) where execution_id is not null;
create index deliveries_line on deliveries (tenant_id, session_id, seq) where status = 'pending';
create index deliveries_due on deliveries (due_at) where status = 'pending';
create index deliveries_newest on deliveries (tenant_id, created_at desc, id desc);

create table delivery_attempts (
  tenant_id uuid not null,
  delivery_id uuid not null,
  number bigint generated always as identity,
  chunk int not null,
  attempt int not null,
  status_code int,
  error text,
  started_at timestamptz not null default now(),
  -- Null for one that a process did not live to see the end of.
  finished_at timestamptz,
  primary key (tenant_id, delivery_id, number),
  foreign key (tenant_id, delivery_id) references deliveries (tenant_id, id) on delete cascade
);

do $$
declare place text;
begin
  foreach place in array array['deliveries', 'delivery_attempts'] loop
    execute format('alter table %I enable row level security', place);
    execute format('alter table %I force row level security', place);
    execute format('grant select, insert, update, delete on %I to troupe_app', place);
    execute format('create policy tenant on %I to troupe_app
      using (tenant_id = current_tenant()) with check (tenant_id = current_tenant())', place);
  end loop;
end $$;

grant select on deliveries to troupe_directory;
create policy directory on deliveries for select to troupe_directory using (status = 'pending');
