// Rules that hold for every table of every migration, read from PostgreSQL's own catalogue.
import test from 'ava';
import type { ExecutionContext } from 'ava';
import pg from 'pg';
import { createDatabase, databaseOfFile } from '../../../support/database/database.js';

const database = databaseOfFile(test);

type Table = { name: string; secured: boolean; first_key_column: string | null };

/** Tables that have a column `tenant_id`, partitions included. */
const tenantTables = `
  select c.relname as name, c.relrowsecurity and c.relforcerowsecurity as secured,
         (select a.attname from pg_index i join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
           where i.indrelid = c.oid and i.indisprimary) as first_key_column
  from pg_class c
  where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
    and exists (select from pg_attribute a
                where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped)
  order by 1`;

/** Tables that also hold rows of the platform itself, so that no tenant can come first in their key. */
const withPlatformRows = new Set([
  // A mail about an account belongs to no tenant.
  'mails',
]);

async function query<Row extends object>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

async function offenders(url: string): Promise<{ unsecured: string[]; misordered: string[] }> {
  const tables = await query<Table>(url, tenantTables);
  return {
    unsecured: tables.filter(({ secured }) => !secured).map(({ name }) => name),
    misordered: tables
      .filter(({ name, first_key_column: first }) => first !== 'tenant_id' && !withPlatformRows.has(name))
      .map(({ name }) => name),
  };
}

test('every tenant table has forced row-level security and tenant_id first in its primary key', async (t) => {
  t.true((await query<Table>(database.url, tenantTables)).length > 0);
  t.deepEqual(await offenders(database.url), { unsecured: [], misordered: [] });
});

test('the check of tenant tables finds violations', async (t: ExecutionContext) => {
  const { url } = await createDatabase(t);
  await query(url, 'create table one (tenant_id uuid, id uuid, primary key (id, tenant_id))');
  await query(url, 'alter table one enable row level security'); // and not forced
  await query(url, 'create table two (tenant_id uuid, id uuid)');
  t.deepEqual(await offenders(url), { unsecured: ['one', 'two'], misordered: ['one', 'two'] });
});

test('the application role reaches no table without row-level security', async (t) => {
  const open = await query<{ name: string }>(
    database.url,
    `select c.relname as name from pg_class c
     where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace and not c.relrowsecurity
       and has_any_column_privilege('troupe_app', c.oid, 'select, insert, update')`,
  );
  t.deepEqual(open, []);
});

test('no connection role owns a table, bypasses row security or inherits a role', async (t) => {
  const roles = await query(
    database.url,
    `select rolname, rolsuper, rolbypassrls, rolcreaterole, rolcanlogin,
            (select count(*)::int from pg_class where relowner = r.oid) as owned,
            (select count(*)::int from pg_auth_members where member = r.oid) as memberships
     from pg_roles r where rolname = any (array['troupe_app', 'troupe_backup', 'troupe_directory', 'troupe_writer'])
     order by 1`,
  );
  const harmless = { rolsuper: false, rolbypassrls: false, rolcreaterole: false, rolcanlogin: false };
  t.deepEqual(
    roles,
    ['troupe_app', 'troupe_backup', 'troupe_directory', 'troupe_writer'].map((rolname) => ({
      rolname,
      ...harmless,
      owned: 0,
      memberships: 0,
    })),
  );
});

test("a function that runs with its owner's rights names its schemas", async (t) => {
  const loose = await query(
    database.url,
    `select proname from pg_proc where prosecdef and pronamespace = 'public'::regnamespace
       and not exists (select from unnest(proconfig) s where s like 'search_path=%')`,
  );
  t.deepEqual(loose, []);
});

test('a view applies the row-level security of its reader, not of its owner', async (t) => {
  const views = await query<{ name: string; as_reader: boolean }>(
    database.url,
    `select oid::regclass::text as name, coalesce('security_invoker=true' = any(reloptions), false) as as_reader
     from pg_class where relkind in ('v', 'm') and relnamespace in ('public'::regnamespace, 'reports'::regnamespace)`,
  );
  t.true(views.length > 0);
  t.deepEqual(
    views.filter(({ as_reader: asReader }) => !asReader),
    [],
  );
});

test('no role writes through a view', async (t) => {
  const writable = await query(
    database.url,
    `select c.oid::regclass::text as name, role
     from pg_class c, unnest(array['troupe_app', 'troupe_backup', 'troupe_directory', 'troupe_writer']) as role
     where relkind in ('v', 'm') and relnamespace in ('public'::regnamespace, 'reports'::regnamespace)
       and has_any_column_privilege(role, c.oid, 'insert, update')`,
  );
  t.deepEqual(writable, []);
});

test('the role of backups reads every table and sequence, and writes nothing', async (t) => {
  const places = await query<{ name: string; reads: boolean; writes: boolean; policy: boolean }>(
    database.url,
    `select c.relname as name, has_table_privilege('troupe_backup', c.oid, 'select') as reads,
       has_table_privilege('troupe_backup', c.oid, 'insert, update, delete, truncate') as writes,
       not c.relrowsecurity or exists (select from pg_policies p
         where p.tablename = c.relname and p.roles = '{troupe_backup}' and p.cmd = 'SELECT') as policy
     from pg_class c where c.relkind in ('r', 'p', 'S') and c.relnamespace = 'public'::regnamespace
       and not c.relispartition`,
  );
  t.true(places.length > 50);
  t.deepEqual(
    places.filter(({ reads, writes, policy }) => !reads || writes || !policy),
    [],
  );
});
