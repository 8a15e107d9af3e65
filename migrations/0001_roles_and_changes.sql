-- The roles that nodes act as, and the numbered changes by which nodes drop what they cached (src/infra/storage).
--
-- Every tenant table of the following files has the same shape:
--   primary key (tenant_id, …)
--   row level security, enabled and forced: forced binds the tables' owner too
--   a policy `tenant` for troupe_app: tenant_id = current_tenant()
-- troupe_directory reads across tenants, before a request's tenant is known and for background work. troupe_writer writes
-- batches with rows of many tenants.
-- A file that must change rows of all tenants creates a policy for its owner and drops it in the same file.

-- Roles belong to the whole server. A migration of another database of this server may create them at this moment.
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
        null; -- another migration created it in between
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

-- What telemetry reads (src/models/telemetry): views that the owners of the tables publish for it. Every view has
-- `security_invoker`, so that the policies of its tables bind the reader, not the view's owner.
create schema reports;
grant usage on schema reports to troupe_app;

-- The tenant of this transaction. Null, which equals nothing, when the transaction has set none.
-- Created here and not in functions/: the policies of the tables need it.
create function current_tenant() returns uuid
  language sql stable parallel safe
  return nullif(current_setting('troupe.tenant_id', true), '')::uuid;

-- Changes to what nodes cache, in one gapless order for the whole platform; record_change() adds them. Not a tenant table:
-- every node reads all of it. A change names its subject and carries none of the subject's data.
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

grant select on change_counter, changes to troupe_directory;
grant delete on changes to troupe_directory;
