-- Roles, tenants, users, memberships, and the numbered changes by which nodes drop what they cached.
--
-- Every tenant table of this and later files follows one pattern:
--   primary key (tenant_id, …)
--   alter table … enable row level security; alter table … force row level security;
--   grant … to troupe_app;
--   create policy tenant on … to troupe_app
--     using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
-- Forced, so that even the owner is bound. A file that must move rows of all tenants makes a policy for
-- its owner and drops it again in the same file.

-- Roles belong to the whole server. Another database of it may be making them at this moment.
do $$
declare
  wanted text;
  has_options boolean := current_setting('server_version_num')::int >= 160000;
  may_enter boolean;
begin
  foreach wanted in array array['troupe_app', 'troupe_directory', 'troupe_writer'] loop
    if not exists (select from pg_roles where rolname = wanted) then
      begin
        execute format('create role %I nologin noinherit nobypassrls', wanted);
      exception when duplicate_object or unique_violation then
        null; -- made in between
      end;
    end if;
    may_enter := pg_has_role(current_user, wanted, case when has_options then 'set' else 'member' end);
    if not may_enter then
      execute format(
        'grant %I to %I' || case when has_options then ' with inherit false, set true' else '' end,
        wanted, current_user);
    end if;
    execute format('grant usage on schema public to %I', wanted);
  end loop;
end
$$;

-- The tenant of this transaction; null, and so equal to nothing, where none was set.
create function current_tenant() returns uuid
  language sql stable parallel safe
  return nullif(current_setting('troupe.tenant_id', true), '')::uuid;

create table tenants (
  id uuid primary key,
  name text not null,
  plan text not null default 'free' check (plan in ('free', 'basic', 'pro', 'enterprise')),
  settings jsonb not null default '{}'::jsonb check (jsonb_typeof(settings) = 'object'),
  created_at timestamptz not null default now()
);

create table users (
  id uuid primary key,
  email text not null,
  name text,
  password_hash text,
  created_at timestamptz not null default now()
);
create unique index users_email_key on users (lower(email));

create table memberships (
  tenant_id uuid not null references tenants (id) on delete cascade,
  user_id uuid not null references users (id) on delete cascade,
  role text not null check (role in ('owner', 'admin', 'editor', 'member')),
  phone text,
  external_id text,
  created_at timestamptz not null default now(),
  primary key (tenant_id, user_id)
);
create index memberships_user on memberships (user_id);

alter table tenants enable row level security;
alter table tenants force row level security;
alter table users enable row level security;
alter table users force row level security;
alter table memberships enable row level security;
alter table memberships force row level security;

grant select, update on tenants to troupe_app;
create policy tenant on tenants to troupe_app
  using (id = current_tenant()) with check (id = current_tenant());

grant select, insert, update, delete on memberships to troupe_app;
create policy tenant on memberships to troupe_app
  using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

-- A tenant sees those users who belong to it, and never a password.
grant select (id, email, name, created_at) on users to troupe_app;
create policy member on users for select to troupe_app
  using (exists (select from memberships m where m.tenant_id = current_tenant() and m.user_id = users.id));

-- The directory answers what must be known before the tenant is: who signs in, and where they belong.
grant select, insert, update on tenants, users to troupe_directory;
grant select, insert, update, delete on memberships to troupe_directory;
create policy directory on tenants to troupe_directory using (true) with check (true);
create policy directory on users to troupe_directory using (true) with check (true);
create policy directory on memberships to troupe_directory using (true) with check (true);

-- Changes to what nodes cache, in one gapless order for the whole platform. No tenant table: every node
-- reads all of it, and it names things without showing them.
create table change_counter (
  only_row boolean primary key default true check (only_row),
  last_number bigint not null
);
insert into change_counter (last_number) values (0);

create table changes (
  number bigint primary key,
  topic text not null,
  about_tenant uuid,
  subject text not null,
  recorded_at timestamptz not null default clock_timestamp() -- rises with the number, as the counter is locked
);

-- The counter's row stays locked until the caller commits, so numbers become visible in their order and
-- an aborted caller leaves no gap. The notice is sent by the commit, and is only a hint.
create function record_change(topic text, about_tenant uuid, subject text) returns bigint
  language plpgsql security definer set search_path = pg_catalog, public, pg_temp
as $$
declare
  next_number bigint;
begin
  update public.change_counter set last_number = last_number + 1 returning last_number into next_number;
  insert into public.changes (number, topic, about_tenant, subject)
    values (next_number, record_change.topic, record_change.about_tenant, record_change.subject);
  perform pg_notify('troupe_changes', next_number::text);
  return next_number;
end
$$;
revoke execute on function record_change from public;
grant execute on function record_change to troupe_app, troupe_directory, troupe_writer;

grant select on change_counter, changes to troupe_directory;
grant delete on changes to troupe_directory;
