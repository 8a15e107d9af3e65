import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type pg from 'pg';
import { platformOf } from '../../../support/builders/platform.js';
import type { TenantScope } from '../../../../src/kernel/tenant-scope.js';
import { openStore, type Store } from '../../../../src/infra/storage/index.js';
import { createVault, type Vault, VaultError } from '../../../../src/tenancy/vault/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { createDatabase } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ownerView } from '../../../support/database/owner-view.js';

interface Installation {
  readonly store: Store;
  /** Past the store and its walls. */
  readonly query: (
    text: string,
    values?: readonly unknown[],
  ) => Promise<pg.QueryResult<Record<string, unknown>>>;
  /** The parts of a node that was started with these keys. */
  readonly node: (wanted: Buffer, ...previous: Buffer[]) => Vault;
  readonly tenant: () => Promise<TenantScope>;
}

async function install(t: ExecutionContext): Promise<Installation> {
  const database = await createDatabase(t);
  const store = await openStore({ databaseUrl: database.url });
  const client = await ownerView(database.url);
  t.teardown(async () => {
    await client.end();
    await store.close();
  });
  return {
    store,
    query: (text, values = []) => client.query(text, [...values]),
    node: (masterKey, ...previousMasterKeys) =>
      createVault(platformOf({ store }), { masterKey, previousMasterKeys, providers: () => [] }),
    tenant: () => insertTenant(store),
  };
}

async function put({ store }: Installation, vault: Vault, scope: TenantScope, owner: string, value: string) {
  return store.inTenant(scope, (tx) => vault.putOwned(tx, owner, 'user:1', value));
}

async function read(vault: Vault, scope: TenantScope, id: string): Promise<string> {
  return (await vault.resolve(scope, { vault_secret_id: id })).value.reveal();
}

interface Planted {
  readonly scope: TenantScope;
  readonly id: string;
  readonly value: string;
}

async function plant(installation: Installation, vault: Vault, count: number): Promise<Planted[]> {
  const planted: Planted[] = [];
  for (let index = 0; index < count; index += 1) {
    const scope = await installation.tenant();
    const value = `value ${index}`;
    planted.push({ scope, value, id: await put(installation, vault, scope, 'thing:1', value) });
  }
  return planted;
}

async function allReadable(t: ExecutionContext, vault: Vault, planted: readonly Planted[]): Promise<void> {
  for (const { scope, id, value } of planted) t.is(await read(vault, scope, id), value);
}

/** How many data keys each master key wraps, the largest first. */
async function wrappedCounts({ query }: Installation): Promise<readonly number[]> {
  const { rows } = await query(
    'select count(*)::int as count from vault_data_keys group by wrapped_by order by 1 desc',
  );
  return rows.map(({ count }) => Number(count));
}

async function oneWaits({ query }: Installation): Promise<void> {
  const waiting =
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await eventually(async () => (await query(waiting)).rowCount === 1, { what: 'somebody waits for a lock' });
}

function wrongKey(message: RegExp) {
  return { instanceOf: VaultError, message };
}

const [oldKey, newKey, otherKey] = [randomBytes(32), randomBytes(32), randomBytes(32)];

test("a node with another master key than the database's does not start", async (t) => {
  const { node } = await install(t);
  await node(oldKey).prepare();
  await node(oldKey).prepare();
  await t.throwsAsync(
    node(newKey).prepare(),
    wrongKey(/TROUPE_MASTER_KEY is not the master key of this database/),
  );
  await t.notThrowsAsync(node(newKey, oldKey).prepare());
});

test('of two nodes that initialise an empty database with different keys at once only one starts', async (t) => {
  const { node, query } = await install(t);
  const starts = await Promise.allSettled([oldKey, newKey, otherKey].map((key) => node(key).prepare()));
  t.is(starts.filter(({ status }) => status === 'fulfilled').length, 1);
  t.is((await query('select from vault_master_keys')).rowCount, 1);
});

test('a master key of another length is refused', (t) => {
  const build = () =>
    createVault(platformOf({ store: undefined as never }), {
      masterKey: randomBytes(16),
      providers: () => [],
    });
  t.throws(build, wrongKey(/has 32 bytes, not 16/));
});

test('a value copied to another tenant, secret or version, or changed by a bit, does not open', async (t) => {
  const installation = await install(t);
  const { node, query, tenant } = installation;
  const vault = node(oldKey);
  await vault.prepare();
  const [one, other] = [await tenant(), await tenant()];
  const first = await put(installation, vault, one, 'thing:1', 'first');
  const second = await put(installation, vault, one, 'thing:2', 'second');
  const foreign = await put(installation, vault, other, 'thing:1', 'foreign');
  const unreadable = { instanceOf: VaultError, message: /does not open/ };

  const copy = (from: string, to: string) =>
    query(
      'update secret_versions set sealed = (select sealed from secret_versions where secret_id = $1) where secret_id = $2',
      [from, to],
    );
  await copy(first, second);
  await t.throwsAsync(read(vault, one, second), unreadable);
  await copy(first, foreign);
  await t.throwsAsync(read(vault, other, foreign), unreadable);
  // With its data key, as an attacker with write access to the database would.
  await query(
    `update vault_data_keys set wrapped = (select wrapped from vault_data_keys where tenant_id = $1) where tenant_id = $2`,
    [one.tenantId, other.tenantId],
  );
  await t.throwsAsync(read(node(oldKey), other, foreign), unreadable);
  t.is(await read(vault, one, first), 'first');
  await query('update secrets set version = 2 where id = $1', [first]);
  await query('update secret_versions set version = 2 where secret_id = $1', [first]);
  await t.throwsAsync(read(vault, one, first), unreadable);
  await query(
    'update secret_versions set version = 1, sealed = set_byte(sealed, 30, get_byte(sealed, 30) # 1) where secret_id = $1',
    [first],
  );
  await t.throwsAsync(read(vault, one, first), unreadable);
});

test('the master key changes while nodes run, and the old one is not needed afterwards', async (t) => {
  const installation = await install(t);
  const { node, query } = installation;
  const before = node(oldKey);
  await before.prepare();
  const planted = await plant(installation, before, 5);

  // Half the nodes are restarted: each still reads the other's values.
  const restarted = node(newKey, oldKey);
  await restarted.prepare();
  planted.push(...(await plant(installation, restarted, 2)));
  await allReadable(t, node(oldKey), planted);

  const batches: number[] = [];
  const done = await restarted.rotateMasterKey('operator', {
    batchSize: 3,
    onBatch: ({ wrapped }) => void batches.push(wrapped),
  });
  t.deepEqual([done.wrapped, batches], [7, [3, 6, 7]]);
  t.deepEqual(await wrappedCounts(installation), [7]);
  planted.push(...(await plant(installation, restarted, 1)));
  await allReadable(t, node(newKey, oldKey), planted);

  const after = node(newKey);
  await after.prepare();
  await allReadable(t, after, planted);
  await t.throwsAsync(node(oldKey).prepare(), wrongKey(/is not the master key of this database/));
  const [first] = planted;
  if (first !== undefined)
    await t.throwsAsync(read(node(oldKey), first.scope, first.id), wrongKey(/fingerprint/));
  t.is((await query('select from vault_master_keys where retired_at is not null')).rowCount, 1);
  t.is((await query("select from platform_audit_entries where action = 'vault.rotated'")).rowCount, 1);
  t.is((await after.rotateMasterKey('operator')).wrapped, 0);
});

test('an interrupted rotation leaves everything readable, and the next one finishes it', async (t) => {
  const installation = await install(t);
  const { node } = installation;
  const vault = node(newKey, oldKey);
  await node(oldKey).prepare();
  const planted = await plant(installation, vault, 6);
  const dying = vault.rotateMasterKey('operator', {
    batchSize: 2,
    onBatch: () => {
      throw new Error('killed');
    },
  });
  await t.throwsAsync(dying, { message: 'killed' });
  t.deepEqual(await wrappedCounts(installation), [4, 2]);
  await allReadable(t, node(newKey, oldKey), planted);
  await t.throwsAsync(
    node(newKey).prepare(),
    wrongKey(/still holds 4 data keys.*TROUPE_MASTER_KEYS_PREVIOUS/s),
  );
  await t.throwsAsync(node(newKey).rotateMasterKey('operator'), wrongKey(/still holds 4 data keys/));

  t.is((await node(newKey, oldKey).rotateMasterKey('operator')).wrapped, 4);
  await node(newKey).prepare();
  await allReadable(t, node(newKey), planted);
});

test('two concurrent rotations share the work and wrap each key once', async (t) => {
  const installation = await install(t);
  const { node } = installation;
  await node(oldKey).prepare();
  const planted = await plant(installation, node(oldKey), 12);
  const rotations = await Promise.all(
    [1, 2, 3].map(() => node(newKey, oldKey).rotateMasterKey('operator', { batchSize: 1 })),
  );
  t.is(
    rotations.reduce((sum, { wrapped }) => sum + wrapped, 0),
    12,
  );
  t.deepEqual(await wrappedCounts(installation), [12]);
  await allReadable(t, node(newKey), planted);
});

test('of two rotations to different keys the later one wins, and nothing is lost', async (t) => {
  const installation = await install(t);
  const { node } = installation;
  await node(oldKey).prepare();
  const planted = await plant(installation, node(oldKey), 4);
  const all = [oldKey, newKey, otherKey];
  const earlier = node(newKey, ...all).rotateMasterKey('operator', {
    batchSize: 1,
    onBatch: async ({ wrapped }) => {
      if (wrapped === 2) await node(otherKey, ...all).rotateMasterKey('operator', { batchSize: 1 });
    },
  });
  await t.throwsAsync(earlier, wrongKey(/another master key has begun/));
  await node(otherKey).prepare();
  await allReadable(t, node(otherKey), planted);
});

test("a rotation waits for a tenant's first key in the making, and wraps it", async (t) => {
  const installation = await install(t);
  const { node, store, tenant } = installation;
  await node(oldKey).prepare();
  const scope = await tenant();
  const vault = node(newKey, oldKey);
  let rotation: Promise<unknown> | undefined;
  const id = await store.inTenant(scope, async (tx) => {
    const made = await vault.putOwned(tx, 'thing:1', 'user:1', 'early');
    rotation = vault.rotateMasterKey('operator');
    await oneWaits(installation);
    return made;
  });
  await rotation;
  const after = node(newKey);
  await after.prepare();
  t.is(await read(after, scope, id), 'early');
});

test("a tenant's data key is replaced while its secrets are read and written", async (t) => {
  const installation = await install(t);
  const { node, query, tenant } = installation;
  const vault = node(oldKey);
  await vault.prepare();
  const scope = await tenant();
  const ids = new Map<string, string>();
  for (let index = 0; index < 5; index += 1) {
    ids.set(`value ${index}`, await put(installation, vault, scope, `thing:${index}`, `value ${index}`));
  }
  const elsewhere = node(oldKey);
  const write = async (index: number) => {
    const value = `written ${index}`;
    ids.set(value, await put(installation, elsewhere, scope, `written:${index}`, value));
  };
  await Promise.all([
    vault.rotateDataKey(scope, 'operator'),
    elsewhere.rotateDataKey(scope, 'operator'),
    ...Array.from({ length: 5 }, (_, index) => write(index)),
    ...[...ids].map(async ([value, id]) => t.is(await read(elsewhere, scope, id), value)),
  ]);
  await vault.rotateDataKey(scope, 'operator');
  const current = 'select id from vault_data_keys where retired_at is null';
  t.is((await query(current)).rowCount, 1);
  t.is((await query(`select from secret_versions where data_key_id in (${current})`)).rowCount, 10);
  for (const [value, id] of ids) {
    t.is(await read(vault, scope, id), value);
    t.is(await read(node(oldKey), scope, id), value);
  }
});

test('a data key is replaced only once writes in progress are visible', async (t) => {
  const installation = await install(t);
  const { node, store, query, tenant } = installation;
  const vault = node(oldKey);
  await vault.prepare();
  const scope = await tenant();
  await put(installation, vault, scope, 'thing:1', 'early');
  let rotation: Promise<unknown> | undefined;
  await store.inTenant(scope, async (tx) => {
    await vault.putOwned(tx, 'thing:2', 'user:1', 'late');
    rotation = vault.rotateDataKey(scope, 'operator');
    await oneWaits(installation);
  });
  await rotation;
  const left = await query(
    'select from secret_versions where data_key_id in (select id from vault_data_keys where retired_at is not null)',
  );
  t.is(left.rowCount, 0);
});
