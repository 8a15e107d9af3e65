import { randomUUID } from 'node:crypto';
import test from 'ava';
import pg from 'pg';
import { z } from 'zod';
import { recordAudit } from '../../../../src/tenancy/audit/index.js';
import { listEntries } from '../../../../src/tenancy/audit/reading.store.js';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import { openStore, sql, type Store } from '../../../../src/infra/storage/index.js';
import { databaseOfFile } from '../../../support/database/database.js';

const database = databaseOfFile(test);
let store: Store;

test.serial.before(async () => {
  store = await openStore({ databaseUrl: database.url });
  database.atEnd(() => store.close());
});

const row = z.object({
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  details: z.record(z.string(), z.unknown()),
});

function entriesOf(tenantId: string) {
  return store.inTenant(tenantScope(tenantId), (tx) =>
    tx.any(sql.type(row)`
      select actor, action, subject, details from audit_entries
      where tenant_id = ${tenantId} order by recorded_at`),
  );
}

const deed = { actor: 'user:1', action: 'secret.created', subject: 'secret:2' };

test('an entry exists once its transaction has committed', async (t) => {
  const tenantId = randomUUID();
  await store.inTenant(tenantScope(tenantId), (tx) =>
    recordAudit(tx, { tenantId, ...deed, details: { name: 'mail', uses: 3 } }),
  );
  t.deepEqual(await entriesOf(tenantId), [{ ...deed, details: { name: 'mail', uses: 3 } }]);
});

test('entries of one transaction are listed in the order in which they were made', async (t) => {
  const tenantId = randomUUID();
  const subjects = Array.from({ length: 50 }, (_, index) => `secret:${index}`);
  await store.inTenant(tenantScope(tenantId), async (tx) => {
    for (const subject of subjects) await recordAudit(tx, { tenantId, ...deed, subject });
  });
  const listed = await store.inTenant(tenantScope(tenantId), (tx) =>
    listEntries(tx, { limit: 100, after: undefined }),
  );
  t.deepEqual(listed.map(({ subject }) => subject).toReversed(), subjects);
});

test('an entry is rolled back with its failed action', async (t) => {
  const tenantId = randomUUID();
  const failing = store.inTenant(tenantScope(tenantId), async (tx) => {
    await recordAudit(tx, { tenantId, ...deed });
    throw new Error('the deed failed');
  });
  await t.throwsAsync(failing, { message: 'the deed failed' });
  t.deepEqual(await entriesOf(tenantId), []);
});

test('details are redacted by name and by shape, and odd characters do not undo the action', async (t) => {
  const tenantId = randomUUID();
  const key = `sk-${'a1'.repeat(12)}`;
  await store.inTenant(tenantScope(tenantId), (tx) =>
    recordAudit(tx, {
      tenantId,
      ...deed,
      subject: `file:${key}`,
      details: { password: 'planted', deep: [{ note: `uses ${key}` }], odd: 'a\0b\ud800c' },
    }),
  );
  const [entry] = await entriesOf(tenantId);
  t.deepEqual(entry, {
    ...deed,
    subject: 'file:[REDACTED]',
    details: { password: '[REDACTED]', deep: [{ note: 'uses [REDACTED]' }], odd: 'ab\ufffdc' },
  });
});

test('a tenant transaction cannot record for another tenant or for the platform', async (t) => {
  const tenantId = randomUUID();
  for (const about of [randomUUID(), null]) {
    const forging = store.inTenant(tenantScope(tenantId), (tx) =>
      recordAudit(tx, { tenantId: about, ...deed }),
    );
    await t.throwsAsync(forging, { name: 'StoreError', message: /forbidden/ });
  }
});

test('a directory transaction records for a tenant and for the platform, and a tenant sees only its own entries', async (t) => {
  const tenantId = randomUUID();
  await store.directory(async (tx) => {
    await recordAudit(tx, { tenantId, ...deed, actor: 'operator' });
    await recordAudit(tx, { tenantId: null, actor: 'operator', action: 'vault.rotated', subject: 'vault' });
  });
  t.deepEqual(await entriesOf(tenantId), [{ ...deed, actor: 'operator', details: {} }]);
  t.deepEqual(await entriesOf(randomUUID()), []);
  const seen = await store.directory((tx) =>
    tx.one(
      sql.type(
        z.object({ actor: z.string() }),
      )`select actor from platform_audit_entries where action = 'vault.rotated'`,
    ),
  );
  t.is(seen.actor, 'operator');
});

test('no role of the application can change or remove an entry', async (t) => {
  const tenantId = randomUUID();
  await store.inTenant(tenantScope(tenantId), (tx) => recordAudit(tx, { tenantId, ...deed }));
  for (const role of ['troupe_app', 'troupe_directory', 'troupe_writer']) {
    const client = new pg.Client({ connectionString: database.url, options: `-c role=${role}` });
    await client.connect();
    try {
      await client.query("select set_config('troupe.tenant_id', $1, false)", [tenantId]);
      for (const table of ['audit_entries', 'platform_audit_entries']) {
        for (const statement of [
          `update ${table} set actor = 'x'`,
          `delete from ${table}`,
          `truncate ${table}`,
        ]) {
          await t.throwsAsync(
            client.query(statement),
            { message: /permission denied/ },
            `${role}: ${statement}`,
          );
        }
      }
    } finally {
      await client.end();
    }
  }
  t.is((await entriesOf(tenantId)).length, 1);
});
