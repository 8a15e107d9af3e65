// Abandoned rows of dead nodes, against a real PostgreSQL: one tenant's few do not wait behind another's many.
import { serialize } from 'node:v8';
import test from 'ava';
import type { TenantScope } from '../../../src/kernel/tenant-scope.js';
import { openStore, sql, type Store } from '../../../src/infra/storage/index.js';
import { dueSessions } from '../../../src/automation/outbox/deliveries.store.js';
import { claimLeftBehind } from '../../../src/automation/inbox/inbox.store.js';
import { insertTenant } from '../../support/builders/callers.js';
import { databaseOfFile } from '../../support/database/database.js';

const database = databaseOfFile(test);
let store: Store;

const holdMs = 60_000;
const many = 300;
const few = 5;
const rowsMax = 20;

test.serial.before(async () => {
  store = await openStore({ databaseUrl: database.url });
  database.atEnd(() => store.close());
});

/** Abandoned messages, each a second older than the one before. */
async function leaveMessages({ tenantId }: TenantScope, scope: TenantScope, count: number, dueAgoS: number) {
  await store.inTenant(scope, (tx) =>
    tx.query(sql.typeAlias('nothing')`
      insert into trigger_inbox (tenant_id, trigger_id, key, session_id, execution_id, state, payload_hash, sealed,
        attempts, due_at, expires_at)
      select ${tenantId}, ${tenantId}, 'key:' || n, gen_random_uuid(), gen_random_uuid(), 'running', '', 'sealed', 1,
        now() - (${dueAgoS} + n) * interval '1 second', now() + interval '1 day'
      from generate_series(1, ${count}) n`),
  );
}

async function leaveAnswers({ tenantId }: TenantScope, scope: TenantScope, count: number, dueAgoS: number) {
  await store.inTenant(scope, (tx) =>
    tx.query(sql.typeAlias('nothing')`
      insert into deliveries (tenant_id, id, session_id, trigger_id, key, chunk_total, sealed, due_at)
      select ${tenantId}, gen_random_uuid(), gen_random_uuid(), ${tenantId}, 'key:' || n, 1, 'sealed',
        now() - (${dueAgoS} + n) * interval '1 second'
      from generate_series(1, ${count}) n`),
  );
}

test.serial("a tenant's abandoned messages are claimed beside another tenant's many", async (t) => {
  const [hot, calm] = [await insertTenant(store), await insertTenant(store)];
  await leaveMessages(hot, hot, many, 1_000);
  await leaveMessages(calm, calm, few, 1);
  const claimed = await store.directory((tx) => claimLeftBehind(tx, holdMs, rowsMax));
  const of = ({ tenantId }: TenantScope) => claimed.filter(({ tenant_id }) => tenant_id === tenantId);
  t.is(claimed.length, rowsMax);
  t.is(of(calm).length, few);
  t.deepEqual(
    of(hot)
      .map(({ key }) => key)
      .toSorted(),
    Array.from({ length: rowsMax - few }, (_, index) => `key:${many - index}`).toSorted(),
    'of each the oldest come first',
  );
  const others = await store.directory((tx) => claimLeftBehind(tx, holdMs, many));
  t.is(others.length, many + few - rowsMax, 'each is taken once, and none is left out');
  t.true(others.every(({ attempts }) => attempts === 2));
});

test.serial(
  "a tenant's large buffers are claimed without their messages, beside another tenant's small message",
  async (t) => {
    const [hot, calm] = [await insertTenant(store), await insertTenant(store)];
    const [buffers, ofEach, bytes] = [10, 20, 50_000];
    await leaveMessages(calm, calm, 1, 1);
    await store.inTenant(hot, (tx) =>
      tx.query(sql.typeAlias('nothing')`
      with flushed as (
        select n, gen_random_uuid() as session, gen_random_uuid() as execution from generate_series(1, ${buffers}) n)
      insert into trigger_inbox (tenant_id, trigger_id, key, session_id, execution_id, state, payload_hash, sealed,
        attempts, due_at, expires_at)
      select ${hot.tenantId}::uuid, ${hot.tenantId}::uuid, 'buffer:' || execution, session, execution, 'running', '',
        ''::bytea, 1, now() - interval '1 hour', now() + interval '1 day' from flushed
      union all
      select ${hot.tenantId}::uuid, ${hot.tenantId}::uuid, 'key:' || n || ' ' || part, session, execution, 'merged', '',
        decode(repeat('ab', ${bytes}), 'hex'), 1, now(), now() + interval '1 day'
      from flushed, generate_series(1, ${ofEach}) part`),
    );
    const claimed = await store.directory((tx) => claimLeftBehind(tx, holdMs, rowsMax));
    t.is(claimed.length, buffers + 1);
    t.true(claimed.some(({ tenant_id }) => tenant_id === calm.tenantId));
    t.true(serialize(claimed).byteLength < 1_000 * claimed.length, 'however much the messages have');
  },
);

test.serial("a tenant's abandoned answers are found beside another tenant's many", async (t) => {
  const [hot, calm] = [await insertTenant(store), await insertTenant(store)];
  await leaveAnswers(hot, hot, many, 1_000);
  await leaveAnswers(calm, calm, few, 10);
  const lines = await store.directory((tx) => dueSessions(tx, 1_000, rowsMax));
  t.is(lines.length, rowsMax);
  t.is(lines.filter(({ tenant_id }) => tenant_id === calm.tenantId).length, few);
});
