import test from 'ava';
import { z } from 'zod';
import { touchConsumer } from '../../../../src/conversations/consumers/index.js';
import type { TenantScope } from '../../../../src/kernel/tenant-scope.js';
import { sql } from '../../../../src/infra/storage/index.js';
import { type ConsumersBench, startConsumers } from '../../../support/servers/consumers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

const database = databaseOfFile(test);
let bench: ConsumersBench;
let secondNode: ConsumersBench;

test.serial.before(async () => {
  bench = await startConsumers(database);
  secondNode = await startConsumers(database, new ManualTime('2026-01-01T00:00:00Z'));
});

const events = (scope: TenantScope) =>
  bench.store.inTenant(scope, (tx) =>
    tx.any(
      sql.type(z.object({ type: z.string(), data: z.unknown() }))`
        select type, data from realtime_events where tenant_id = ${scope.tenantId} order by number`,
    ),
  );

test('denying and allowing return the consumer, also for an unknown key', async (t) => {
  const scope = await bench.newTenant();
  const admin = bench.as(scope, 'admin');
  const denied = await admin.deny('+49 171/x', { reason: 'spam' });
  t.is(denied.status, 200);
  t.deepEqual(denied.at('data'), {
    consumer_key: '+49 171/x',
    display_name: null,
    channels: [],
    total_sessions: 0,
    total_turns: 0,
    first_seen: null,
    last_seen: null,
    blocked: true,
    blocked_reason: 'spam',
  });
  t.is((await admin.get('/api/v1/consumers?blocked=true')).at('data.0.consumer_key'), '+49 171/x');
  t.is((await admin.get('/api/v1/consumers?blocked=false')).at('count'), 0);
  const allowed = await admin.allow('+49 171/x');
  t.is(allowed.status, 200);
  t.is(allowed.at('data.blocked'), false);
  t.is(allowed.at('data.blocked_reason'), null);
  t.is((await admin.get('/api/v1/consumers')).at('count'), 0, 'nobody is left who never came');
  t.is((await admin.allow('nobody')).status, 200);
});

test('a consumer with turns stays known when allowed again', async (t) => {
  const scope = await bench.newTenant();
  const admin = bench.as(scope, 'admin');
  const at = new Date();
  await bench.store.inTenant(scope, (tx) =>
    touchConsumer(tx, { key: 'c', name: undefined, channel: 'stream', at }),
  );
  await admin.deny('c');
  t.is((await admin.allow('c')).at('data.first_seen'), at.toISOString());
  t.is((await admin.get('/api/v1/consumers/c')).status, 200);
});

test('a turn of a consumer denied in advance leaves them denied', async (t) => {
  const scope = await bench.newTenant();
  const admin = bench.as(scope, 'admin');
  await admin.deny('c');
  await bench.store.inTenant(scope, (tx) =>
    touchConsumer(tx, { key: 'c', name: undefined, channel: 'stream', at: new Date() }),
  );
  t.is((await admin.get('/api/v1/consumers/c')).at('data.blocked'), true);
  t.is(await bench.subject.isDenied(scope, 'c'), true);
});

test('each change is reported once with its author; repeating one reports nothing', async (t) => {
  const scope = await bench.newTenant();
  const admin = bench.as(scope, 'admin');
  await admin.deny('c', { reason: 'first' });
  t.is((await admin.deny('c')).at('data.blocked_reason'), 'first');
  t.is((await admin.deny('c', { reason: 'second' })).at('data.blocked_reason'), 'second');
  await admin.allow('c');
  await admin.allow('c');
  const seen = await events(scope);
  t.deepEqual(
    seen.map(({ type }) => type),
    ['consumer_denylist_changed', 'consumer_denylist_changed'],
  );
  const data = seen.map((event) => event.data as Record<string, unknown>);
  t.deepEqual(
    data.map(({ consumer_key, blocked }) => [consumer_key, blocked]),
    [
      ['c', true],
      ['c', false],
    ],
  );
  t.regex(String(data[0]?.['by']), /^user:/);
});

test('editors see that a consumer is blocked, but not why, and change nothing', async (t) => {
  const scope = await bench.newTenant();
  await bench.as(scope, 'owner').deny('c', { reason: 'private' });
  const editor = bench.as(scope, 'editor');
  const answer = await editor.get('/api/v1/consumers/c');
  t.is(answer.at('data.blocked'), true);
  t.false(answer.text.includes('reason'));
  t.false((await editor.get('/api/v1/consumers')).text.includes('private'));
  for (const role of ['editor', 'member'] as const) {
    const person = bench.as(scope, role, 'key');
    t.is((await person.deny('d')).status, 403);
    t.is((await person.allow('c')).status, 403);
    t.is((await person.get('/api/v1/denylist')).status, 403);
  }
  t.is(await bench.subject.isDenied(scope, 'c'), true);
  t.is(await bench.subject.isDenied(scope, 'd'), false);
});

test('the denylist shows the person, the author, the time and the reason', async (t) => {
  const scope = await bench.newTenant();
  const owner = bench.as(scope, 'owner');
  await owner.deny('c', { reason: 'spam' });
  const answer = await owner.get('/api/v1/denylist');
  t.is(answer.at('count'), 1);
  t.is(answer.at('data.0.blocked_reason'), 'spam');
  t.regex(answer.textAt('data.0.blocked_by'), /^user:/);
  t.regex(answer.textAt('data.0.blocked_at'), /Z$/);
});

test('invalid input is refused', async (t) => {
  const admin = bench.as(await bench.newTenant(), 'admin');
  t.is((await admin.deny('c', { reason: 7 })).status, 400);
  t.is((await admin.deny('c', { reason: 'x'.repeat(1_001) })).status, 400);
  t.is((await admin.deny('x'.repeat(256))).status, 404);
});

test('a change is in force when its answer arrives, and on other nodes as soon as they are told', async (t) => {
  const scope = await bench.newTenant();
  const admin = bench.as(scope, 'admin');
  for (let round = 0; round < 3; round += 1) {
    t.is(await secondNode.subject.isDenied(scope, 'c'), false);
    await admin.deny('c');
    t.is(await bench.subject.isDenied(scope, 'c'), true);
    await eventually(async () => await secondNode.subject.isDenied(scope, 'c'), { everyMs: 5 });
    await admin.allow('c');
    t.is(await bench.subject.isDenied(scope, 'c'), false);
    await eventually(async () => !(await secondNode.subject.isDenied(scope, 'c')), { everyMs: 5 });
  }
});

test.serial('a list in memory answers without a query', async (t) => {
  const scope = await bench.newTenant();
  await bench.as(scope, 'admin').deny('c');
  // Nothing is kept while the feed is late.
  await eventually(async () => {
    await bench.subject.isDenied(scope, 'a');
    return bench.subject.isDenied(scope, 'a') === false;
  });
  const before = bench.readCount();
  for (let index = 0; index < 1_000; index += 1) t.false(bench.subject.isDenied(scope, `k${index}`) === true);
  t.is(bench.subject.isDenied(scope, 'c'), true);
  t.is(bench.readCount(), before);
});
