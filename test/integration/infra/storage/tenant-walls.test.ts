// Row-level security: PostgreSQL's own refusals, whatever a query says.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import pg from 'pg';
import { z } from 'zod';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import { openStore, sql } from '../../../../src/infra/storage/index.js';
import type { Store } from '../../../../src/infra/storage/index.js';
import { databaseOfFile } from '../../../support/database/database.js';

const database = databaseOfFile(test);
const [mine, theirs] = [randomUUID(), randomUUID()];
let store: Store;

test.serial.before(async () => {
  store = await openStore({ databaseUrl: database.url });
  database.atEnd(() => store.close());
  await store.directory(async (tx) => {
    for (const id of [mine, theirs]) {
      const userId = randomUUID();
      await tx.query(sql.typeAlias('nothing')`insert into tenants (id, name) values (${id}, 'a tenant')`);
      await tx.query(sql.typeAlias('nothing')`
        insert into users (id, email, password_hash) values (${userId}, ${`${id}@example.com`}, 'secret')`);
      await tx.query(sql.typeAlias('nothing')`
        insert into memberships (tenant_id, user_id, role) values (${id}, ${userId}, 'owner')`);
    }
  });
});

/** A connection as the application's role, as a query that forgot its tenant would have it. */
async function asApplication<Result>(
  tenantId: string | undefined,
  work: (client: pg.Client) => Promise<Result>,
) {
  const client = new pg.Client({ connectionString: database.url, options: '-c role=troupe_app' });
  await client.connect();
  try {
    if (tenantId !== undefined)
      await client.query("select set_config('troupe.tenant_id', $1, false)", [tenantId]);
    return await work(client);
  } finally {
    await client.end();
  }
}

test('a tenant transaction sees only its own rows, although the query names no tenant', async (t) => {
  const rows = await store.inTenant(tenantScope(mine), (tx) =>
    tx.any(sql.type(z.object({ tenant_id: z.string() }))`select tenant_id from memberships`),
  );
  t.deepEqual(rows, [{ tenant_id: mine }]);
});

test("a tenant transaction sees no other tenant's rows, although the query asks for them", async (t) => {
  await store.inTenant(tenantScope(mine), async (tx) => {
    t.false(await tx.exists(sql.unsafe`select from tenants where id = ${theirs}`));
    t.false(await tx.exists(sql.unsafe`select from memberships where tenant_id = ${theirs}`));
    t.false(await tx.exists(sql.unsafe`select from users where email = ${`${theirs}@example.com`}`));
    const { rowCount } = await tx.query(
      sql.typeAlias('nothing')`update memberships set role = 'member' where tenant_id = ${theirs}`,
    );
    t.is(rowCount, 0);
  });
});

test('a row cannot be written into another tenant', async (t) => {
  await t.throwsAsync(
    store.inTenant(tenantScope(mine), (tx) =>
      tx.query(sql.typeAlias('nothing')`update memberships set tenant_id = ${theirs}`),
    ),
    { name: 'StoreError', message: /forbidden/ },
  );
});

test('the application role without a tenant sees no row of any tenant table', async (t) => {
  await asApplication(undefined, async (client) => {
    for (const table of ['tenants', 'memberships']) {
      t.is((await client.query(`select from ${table}`)).rowCount, 0, table);
    }
    t.is((await client.query('select id from users')).rowCount, 0);
  });
});

test('the application role with a tenant sees only that tenant', async (t) => {
  await asApplication(theirs, async (client) => {
    t.deepEqual((await client.query('select id from tenants')).rows, [{ id: theirs }]);
  });
});

test('the application role never reads a password', async (t) => {
  await asApplication(mine, async (client) => {
    await t.throwsAsync(client.query('select password_hash from users'), { message: /permission denied/ });
  });
});
