// Flushing buffers against a real PostgreSQL: which messages become which execution.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import pg from 'pg';
import { ignoreIdleLosses } from '../../../src/infra/storage/pool.js';
import { systemTime } from '../../../cluster/index.js';
import {
  type BatchWriter,
  type BatchWriters,
  openHotReads,
  openStore,
} from '../../../src/infra/storage/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { deleteExpired, deleteOld, findByKey } from '../../../src/automation/inbox/inbox.store.js';
import {
  type AcceptedRow,
  type Acceptance,
  acceptTarget,
} from '../../../src/automation/inbox/accept-target.js';
import { type Flushed, type FlushRow, flushTarget } from '../../../src/automation/inbox/flush-target.js';
import { databaseOfFile } from '../../support/database/database.js';
import { openPatientWriters } from '../../support/database/patient-writers.js';
import { eventually } from '../../support/clocks/eventually.js';
import { ownerView } from '../../support/database/owner-view.js';
import { waitersFor } from '../../support/database/lock-waiters.js';

const database = databaseOfFile(test);
let owner: pg.Pool;
let writers: BatchWriters;
let inbox: BatchWriter<AcceptedRow, Acceptance>;
let flushes: BatchWriter<FlushRow, Flushed>;

interface Place {
  readonly tenant_id: string;
  readonly trigger_id: string;
  readonly session_id: string;
}

test.serial.before(() => {
  owner = new pg.Pool({ connectionString: database.url });
  ignoreIdleLosses(owner);
  writers = openPatientWriters(database.url);
  database.atEnd(async () => {
    await writers.close();
    await owner.end();
  });
  inbox = writers.writer(acceptTarget);
  flushes = writers.writer(flushTarget({ holdMs: 60_000, keepMs: 60_000 }));
});

function buffer(): Place {
  return { tenant_id: randomUUID(), trigger_id: randomUUID(), session_id: randomUUID() };
}

function say(where: Place, text: string, windowMs: number): Promise<Acceptance> {
  return inbox.write({
    ...where,
    key: `key:${randomUUID()}`,
    execution_id: null,
    state: 'buffered',
    asks: true,
    payload_hash: '',
    sealed: Buffer.from(text),
    answer: null,
    hold_ms: windowMs,
    keep_ms: 60_000,
  });
}

function flush(where: Place, given: Partial<FlushRow> = {}): Promise<Flushed> {
  return flushes.write({
    ...where,
    execution_id: randomUUID(),
    at_once: false,
    most: 100,
    bytes: 0,
    ...given,
  });
}

function texts({ parts }: Flushed): readonly string[] {
  return parts.map(({ sealed }) => sealed.toString('utf8'));
}

test('buffers that end together each become one execution, with their messages in order', async (t) => {
  const [one, other] = [buffer(), buffer()];
  for (const text of ['a', 'b', 'c']) await say(one, text, 0);
  await say(other, 'd', 0);
  const [first, second] = await Promise.all([flush(one), flush(other)]);
  t.deepEqual(texts(first), ['a', 'b', 'c']);
  t.deepEqual(texts(second), ['d']);
  t.true(first.seq > (first.parts.at(-1)?.seq ?? Number.NaN), 'the execution comes after its messages');
  t.deepEqual(texts(await flush(one)), [], 'nothing waits there any more');
});

test('a buffer that runs is told whether older executions of its session run', async (t) => {
  const where = buffer();
  const flushed: Flushed[] = [];
  for (const text of ['a', 'b', 'c']) {
    await say(where, text, 0);
    flushed.push(await flush(where));
  }
  t.deepEqual(
    flushed.map(({ isBehind }) => isBehind),
    [false, true, true],
  );
});

test('a repeated flush with a lost outcome returns the same result', async (t) => {
  const [lost, fresh] = [buffer(), buffer()];
  await say(lost, 'a', 0);
  await say(lost, 'b', 0);
  const execution_id = randomUUID();
  const first = await flush(lost, { execution_id });
  await say(fresh, 'c', 0);
  const [again, beside] = await Promise.all([flush(lost, { execution_id }), flush(fresh)]);
  t.deepEqual(again, first);
  t.deepEqual(texts(beside), ['c']);
});

test('a repeated flush takes no message that came after the first', async (t) => {
  const where = buffer();
  await say(where, 'a', 0);
  const execution_id = randomUUID();
  const first = await flush(where, { execution_id });
  await say(where, 'b', 0);
  t.deepEqual(await flush(where, { execution_id }), first);
  t.deepEqual(texts(await flush(where)), ['b']);
});

test('a buffer with an open window stays, unless it must end at once', async (t) => {
  const [open, over] = [buffer(), buffer()];
  await say(open, 'a', 30_000);
  await say(over, 'b', 0);
  const [still, flushed] = await Promise.all([flush(open), flush(over)]);
  t.deepEqual(texts(still), []);
  t.true((still.leftMs ?? 0) > 0 && (still.leftMs ?? Number.NaN) <= 30_000);
  t.deepEqual(texts(flushed), ['b']);
  t.deepEqual(texts(await flush(open, { at_once: true })), ['a']);
});

test('a buffer over its limit becomes an execution of the limit and stays open for the rest', async (t) => {
  const where = buffer();
  const letters = 'abcdefghijkl'.split('');
  for (const text of letters) await say(where, text, 30_000);
  const execution_id = randomUUID();
  const first = await flush(where, { most: 5, execution_id });
  t.deepEqual(texts(first), letters.slice(0, 5));
  t.is(first.leftMs, 0, 'the rest is full already');
  const again = await flush(where, { most: 5, execution_id });
  t.deepEqual(again, first, 'also when it is asked for again, since its outcome was lost');
  // Of two concurrent flushes of one buffer each gets its own messages, in any order.
  const both = await Promise.all([flush(where, { most: 5 }), flush(where, { most: 5 })]);
  t.deepEqual(both.flatMap(texts), letters.slice(5, 10));
  const open = await flush(where, { most: 5 });
  t.deepEqual(texts(open), []);
  t.true((open.leftMs ?? 0) > 0 && (open.leftMs ?? Number.NaN) <= 30_000);
  t.is((await say(where, 'm', 30_000)).buffered, 3, 'the next message is counted with what is left');
  t.deepEqual(texts(await flush(where, { most: 5, at_once: true })), ['k', 'l', 'm']);
});

test('of a buffer of long messages an execution takes at most 2 MiB, and a longer one alone', async (t) => {
  const where = buffer();
  const sizes = [1_900_000, 200_000, 600_000, 1_200_000, 2_200_000, 300_000, 400_000, 500_000];
  for (const size of sizes) await say(where, 'x'.repeat(size), 0);
  const taken: number[][] = [];
  for (let leftMs: number | undefined = 0; leftMs !== undefined;) {
    const flushed: Flushed = await flush(where);
    taken.push(texts(flushed).map(({ length }) => length));
    leftMs = flushed.leftMs;
    t.true(leftMs === undefined || leftMs <= 0, 'the rest is over as well');
  }
  t.deepEqual(taken, [[1_900_000], [200_000, 600_000, 1_200_000], [2_200_000], [300_000, 400_000, 500_000]]);
});

test('a buffer that must end at once ends in executions of at most 2 MiB', async (t) => {
  const where = buffer();
  for (const letter of ['a', 'b', 'c', 'd']) await say(where, letter.repeat(1_000_000), 30_000);
  const execution_id = randomUUID();
  const first = await flush(where, { at_once: true, execution_id });
  t.deepEqual(
    texts(first).map(([letter]) => letter),
    ['a', 'b'],
  );
  t.true(first.leftMs !== undefined);
  t.deepEqual(
    (await flush(where, { at_once: true, execution_id })).parts,
    first.parts,
    'also when asked again',
  );
  const rest = await flush(where, { at_once: true });
  t.deepEqual([texts(rest).length, rest.leftMs], [2, undefined]);
});

test.serial(
  'a message committed while the flush waits for its window belongs to the execution',
  async (t) => {
    const where = buffer();
    await say(where, 'a', 0);
    const client = await owner.connect();
    try {
      await client.query('begin');
      await client.query("select set_config('troupe.tenant_id', $1, true)", [where.tenant_id]);
      const keys = [where.tenant_id, where.trigger_id, where.session_id];
      await client.query('set local role troupe_app');
      await client.query(
        `update trigger_windows set messages = messages + 1
       where tenant_id = $1 and trigger_id = $2 and session_id = $3`,
        keys,
      );
      const flushing = flush(where);
      const waits = async () => (await waitersFor(client)).length > 0;
      await eventually(waits, { what: 'a flush that waits for the window', everyMs: 5 });
      await client.query(
        `insert into trigger_inbox (tenant_id, trigger_id, session_id, key, state, payload_hash, sealed, due_at, expires_at)
       values ($1, $2, $3, 'key:late', 'buffered', '', $4, now(), now())`,
        [...keys, Buffer.from('b')],
      );
      await client.query('commit');
      t.deepEqual(texts(await flushing), ['a', 'b']);
    } finally {
      client.release();
    }
  },
);

test('of two nodes that flush the same buffer one gets its messages', async (t) => {
  const where = buffer();
  await say(where, 'a', 0);
  const other = writers.writer(flushTarget({ holdMs: 60_000, keepMs: 60_000 }));
  const row: FlushRow = { ...where, execution_id: randomUUID(), at_once: true, most: 100, bytes: 0 };
  const outcomes = await Promise.all([flush(where, { at_once: true }), other.write(row)]);
  t.deepEqual(outcomes.flatMap(texts), ['a']);
});

test.serial(
  'the messages of a buffer are kept until their execution has ended, however long it waits',
  async (t) => {
    const databaseUrl = database.url;
    const store = await openStore({ databaseUrl });
    const reads = openHotReads({ databaseUrl, time: systemTime });
    const view = await ownerView(databaseUrl);
    try {
      const where = buffer();
      const scope = tenantScope(where.tenant_id);
      const execution_id = randomUUID();
      for (const text of ['a', 'b']) await say(where, text, 0);
      await flush(where, { execution_id });
      const ours = [where.tenant_id];
      await view.query(
        `update trigger_inbox set expires_at = now() - interval '1 day' where tenant_id = $1`,
        ours,
      );
      const keys = async () =>
        (await view.query(`select key from trigger_inbox where tenant_id = $1 and state <> 'running'`, ours))
          .rows;
      const [{ key = '' } = {}] = await keys();
      const forget = async () => {
        await store.directory((tx) => deleteOld(tx, 100));
        await store.inTenant(scope, (tx) => deleteExpired(scope, tx, where.trigger_id, key));
      };
      await forget();
      t.is((await keys()).length, 2);
      t.like(await findByKey(reads, scope, where.trigger_id, key), { state: 'merged', is_over: false });
      t.deepEqual(texts(await flush(where, { execution_id })), ['a', 'b']);
      await view.query(
        `update trigger_inbox set state = 'done' where tenant_id = $1 and state = 'running'`,
        ours,
      );
      t.like(await findByKey(reads, scope, where.trigger_id, key), { is_over: true });
      await forget();
      t.deepEqual(await keys(), []);
    } finally {
      await store.close();
      await reads.close();
      await view.end();
    }
  },
);
