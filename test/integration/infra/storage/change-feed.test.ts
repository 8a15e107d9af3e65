// Changes of one node reach every node in order and without gaps, and a node knows when it cannot receive them.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import pg from 'pg';
import { systemRandom, systemTime } from '../../../../cluster/index.js';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import {
  openChangeFeed,
  openStore,
  recordChange,
  recordChanges,
} from '../../../../src/infra/storage/index.js';
import type { Change, ChangeFeed, Store } from '../../../../src/infra/storage/index.js';
import { createDatabase } from '../../../support/database/database.js';
import type { TestDatabase } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { TcpProxy } from '../../../support/servers/tcp-proxy.js';

type Heard = { changes: Change[]; dropped: number };

/** A separate database, because the numbers are those of the whole database. */
async function platform(t: ExecutionContext): Promise<{ database: TestDatabase; store: Store }> {
  const database = await createDatabase();
  const store = await openStore({ databaseUrl: database.url });
  t.teardown(async () => {
    await store.close();
    await database.drop();
  });
  return { database, store };
}

async function node(
  t: ExecutionContext,
  databaseUrl: string,
): Promise<{ feed: ChangeFeed; heard: Heard; problems: unknown[]; passMs: (milliseconds: number) => void }> {
  const problems: unknown[] = [];
  let aheadMs = 0;
  const feed = await openChangeFeed({
    databaseUrl,
    time: {
      ...systemTime,
      monotonicMs: () => systemTime.monotonicMs() + aheadMs,
      wallMs: () => systemTime.wallMs() + aheadMs,
    },
    random: systemRandom,
    onProblem: (problem) => problems.push(problem),
  });
  t.teardown(() => feed.close());
  const heard: Heard = { changes: [], dropped: 0 };
  feed.subscribe('key', {
    onChange: (change) => heard.changes.push(change),
    onDropEverything: () => (heard.dropped += 1),
  });
  return { feed, heard, problems, passMs: (milliseconds) => void (aheadMs += milliseconds) };
}

function record(store: Store, subject: string, topic = 'key'): Promise<number> {
  return store.directory((tx) => recordChange(tx, { topic, tenantId: null, subject }));
}

test('a change reaches every node, and only subscribers of its topic', async (t) => {
  const { database, store } = await platform(t);
  const tenantId = randomUUID();
  const nodes = [await node(t, database.url), await node(t, database.url)];
  const number = await store.inTenant(tenantScope(tenantId), async (tx) => {
    await recordChange(tx, { topic: 'plan', tenantId, subject: 'not for us' });
    return recordChange(tx, { topic: 'key', tenantId, subject: 'a key' });
  });
  for (const { feed, heard } of nodes) {
    t.true(await feed.reached(number, 10_000));
    t.deepEqual(heard, { changes: [{ number: 2, topic: 'key', tenantId, subject: 'a key' }], dropped: 0 });
    t.is(feed.position, 2);
  }
});

test('changes that are recorded together get numbers of their own, in their order', async (t) => {
  const { database, store } = await platform(t);
  const { feed, heard } = await node(t, database.url);
  const tenantId = randomUUID();
  const subjects = Array.from({ length: 1_200 }, (_, index) => String(index));
  await record(store, 'before');
  const number = await store.directory(async (tx) => {
    t.is(await recordChanges(tx, []), undefined);
    return recordChanges(
      tx,
      subjects.map((subject) => ({ topic: 'key', tenantId: subject === '0' ? null : tenantId, subject })),
    );
  });
  t.is(number, 1_201);
  t.true(await feed.reached(await record(store, 'after'), 10_000));
  t.is(heard.dropped, 0);
  t.deepEqual(
    heard.changes.map(({ number: of, subject, tenantId: about }) => [of, subject, about]),
    ['before', ...subjects, 'after'].map((subject, index) => [
      index + 1,
      subject,
      index < 2 || subject === 'after' ? null : tenantId,
    ]),
  );
});

test('changes of many concurrent transactions arrive in the order of their numbers, none missing', async (t) => {
  const { database, store } = await platform(t);
  const { feed, heard } = await node(t, database.url);
  const writes = Array.from({ length: 200 }, async (_, index) => {
    const failing = index % 7 === 0;
    return store
      .directory(async (tx) => {
        const number = await recordChange(tx, { topic: 'key', tenantId: null, subject: String(index) });
        if (failing) throw new Error('this transaction gives up');
        return number;
      })
      .catch((error: unknown) => {
        if (!failing) throw error;
        return 0;
      });
  });
  const last = Math.max(...(await Promise.all(writes)));
  t.true(await feed.reached(last, 20_000));
  t.is(heard.dropped, 0);
  t.deepEqual(
    heard.changes.map(({ number }) => number),
    Array.from({ length: 171 }, (_, index) => index + 1),
  );
});

test('a change of a rolled back transaction is never sent', async (t) => {
  const { database, store } = await platform(t);
  const { feed, heard } = await node(t, database.url);
  await t.throwsAsync(
    store.directory(async (tx) => {
      await recordChange(tx, { topic: 'key', tenantId: null, subject: 'undone' });
      throw new Error('no');
    }),
  );
  t.true(await feed.reached(await record(store, 'done'), 10_000));
  t.deepEqual(
    heard.changes.map(({ subject }) => subject),
    ['done'],
  );
});

test('a node that cannot read is stale after two seconds, and catches up when it can', async (t) => {
  const { database, store } = await platform(t);
  const proxy = await TcpProxy.before(database.url);
  t.teardown(() => proxy.close());
  const { feed, heard, problems, passMs } = await node(t, proxy.url);
  await eventually(() => feed.isFresh());
  proxy.mode = 'down';
  proxy.cutAll();
  const number = await record(store, 'while away');
  await eventually(() => problems.length > 0, { what: 'the node cannot read' });
  passMs(2_000);
  t.false(feed.isFresh());
  t.deepEqual(heard.changes, []);
  proxy.mode = 'open';
  t.true(await feed.reached(number, 20_000));
  await eventually(() => feed.isFresh(), { what: 'the node is fresh again' });
  t.deepEqual(
    heard.changes.map(({ subject }) => subject),
    ['while away'],
  );
});

test('a silent connection makes the node stale although it is not closed', async (t) => {
  const { database, store } = await platform(t);
  const proxy = await TcpProxy.before(database.url);
  t.teardown(() => proxy.close());
  const { feed, passMs } = await node(t, proxy.url);
  proxy.mode = 'silent';
  const number = await record(store, 'unheard');
  passMs(2_000);
  t.false(feed.isFresh());
  proxy.mode = 'open';
  proxy.cutAll();
  t.true(await feed.reached(number, 20_000));
});

test('a node that was away longer than changes are kept must drop its caches', async (t) => {
  const { database, store } = await platform(t);
  const proxy = await TcpProxy.before(database.url);
  t.teardown(() => proxy.close());
  const { feed, heard } = await node(t, proxy.url);
  proxy.mode = 'down';
  proxy.cutAll();
  await record(store, 'pruned');
  const number = await record(store, 'kept');
  await asOwner(database.url, 'delete from changes where number = 1');
  proxy.mode = 'open';
  t.true(await feed.reached(number, 20_000));
  t.deepEqual(heard, { changes: [], dropped: 1 });
  t.true(await feed.reached(await record(store, 'next'), 10_000));
  t.like(heard, { changes: [{ subject: 'next' }], dropped: 1 });
});

test('a database that lost the last changes and reissued their numbers makes nodes drop their caches', async (t) => {
  const { database, store } = await platform(t);
  const { feed, heard } = await node(t, database.url);
  t.true(await feed.reached(await record(store, 'forgotten'), 10_000));
  // As after a failover to a replica that lacked the last commit: number 1 is now another change.
  await asOwner(
    database.url,
    "update changes set subject = 'another', recorded_at = recorded_at + interval '1 second'",
  );
  await eventually(() => heard.dropped === 1, { what: 'the node notices' });
  await asOwner(database.url, 'delete from changes; update change_counter set last_number = 0');
  await eventually(() => heard.dropped === 2, { what: 'the node notices the lower number' });
  t.is(feed.position, 0);
});

test('a throwing subscriber does not keep the change from the others', async (t) => {
  const { database, store } = await platform(t);
  const { feed, heard, problems } = await node(t, database.url);
  const unsubscribe = feed.subscribe('key', {
    onChange: () => {
      throw new Error('a mistake');
    },
    onDropEverything: () => undefined,
  });
  const last: Change[] = [];
  feed.subscribe('key', { onChange: (change) => last.push(change), onDropEverything: () => undefined });
  t.true(await feed.reached(await record(store, 'one'), 10_000));
  t.is(heard.changes.length, 1);
  t.is(last.length, 1);
  t.is(problems.length, 1);
  unsubscribe();
  t.true(await feed.reached(await record(store, 'two'), 10_000));
  t.is(problems.length, 1);
});

test('waiting for a missing change ends after the allowed time', async (t) => {
  const { database } = await platform(t);
  const { feed } = await node(t, database.url);
  t.false(await feed.reached(1, 50));
});

async function asOwner(databaseUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
