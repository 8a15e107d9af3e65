-- The roles that nodes act as, and the numbered changes by which nodes drop what they cached (src/infra/storage).
--
-- Every tenant table of the following files has the same shape:
--   primary key (tenant_id, …)
--   row level security, enabled and forced: forced binds the tables' owner too
--   a policy `tenant` for troupe_app: tenant_id = current_tenant()
-- troupe_directory reads across tenants, before a request's tenant is known and for background work. troupe_writer writes
-- batches with rows of many tenants. troupe_backup reads every row for `troupe backup`; no connection of a node acts as it.
-- A file that must change rows of all tenants creates a policy for its owner and drops it in the same file.

-- Roles belong to the whole server. A migration of another database of this server may create them at this moment.
do $$
declare
  wanted text;
  has_options boolean := current_setting('server_version_num')::int >= 160000;
  may_enter boolean;
begin
  foreach wanted in array array['troupe_app', 'troupe_directory', 'troupe_writer', 'troupe_backup'] loop
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

-- Lets troupe_backup read the tables and sequences that it cannot read yet. Every migration file ends with a call
-- (src/infra/storage/migrate.ts), so that no new table is missing in backups. The policy holds only in a session that acts
-- as the role: before PostgreSQL 16 the owner inherits it, and functions with the owner's rights stay bound to their tenant.
create function let_backup_read() returns void
  language plpgsql set search_path = pg_catalog, public, pg_temp as $$
declare
  place record;
begin
  for place in
    select c.oid, c.relrowsecurity, case c.relkind when 'S' then 'sequence' else 'table' end as kind
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'S') and not c.relispartition
      and pg_has_role(c.relowner, 'usage')
      and (not exists (select from aclexplode(c.relacl) a where a.grantee = 'troupe_backup'::regrole)
        or (c.relrowsecurity
          and not exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'backup')))
  loop
    execute format('grant select on %s %s to troupe_backup', place.kind, place.oid::regclass);
    continue when not place.relrowsecurity;
    execute format('drop policy if exists backup on %s', place.oid::regclass);
    execute format('create policy backup on %s for select to troupe_backup using (current_user = %L)',
      place.oid::regclass, 'troupe_backup');
  end loop;
end
$$;
revoke execute on function let_backup_read from public;

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
