// Flushed buffers with messages of several senders: which turns they become, whoever runs them. The store is real.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { systemTime } from '../../../cluster/index.js';
import { forgetAccepted } from '../../../src/automation/inbox/erasure.js';
import { messageRows } from '../../../src/automation/inbox/message-rows.js';
import { splitBuffer } from '../../../src/automation/inbox/split.store.js';
import type { TurnOrder, TurnOutcome } from '../../../src/automation/triggers/ports.js';
import { sql } from '../../../src/infra/storage/index.js';
import { PlatformError } from '../../../src/kernel/errors.js';
import {
  buffersOf,
  completed,
  type FlushedBuffer,
  here,
  lost,
  type Said,
  sealer,
  there,
} from '../../support/builders/flushed-buffers.js';
import { eventually } from '../../support/clocks/eventually.js';

const { flushed, storeOf, owner } = buffersOf(test);

const several: readonly Said[] = [
  { from: 'ann', text: 'a1' },
  { from: 'ben', text: 'b1' },
  { from: 'ann', text: 'a2' },
  { text: 'n1' },
  { from: 'cid', text: 'c1' },
  { from: 'ben', text: 'b2' },
];
const allDone = ['done a1 a2', 'done b1 b2', 'done n1', 'done c1'];

/** A session that is that of `ann`, as it answers unbuffered messages too. */
function sessionOfAnn(taken: string[], ends: Map<string, (end: TurnOutcome) => void>) {
  return (order: TurnOrder): Promise<TurnOutcome> => {
    taken.push(`${order.consumerKey ?? ''}: ${order.message.replaceAll('\n', ' ')}`);
    if (order.consumerKey !== undefined && order.consumerKey !== 'ann')
      return Promise.reject(new PlatformError('conflict', { message: 'The session is that of ann.' }));
    order.onTaken?.();
    return new Promise((resolve) => void ends.set(order.executionId, resolve));
  };
}

test.serial(
  'each sender of a buffer has a turn of their own, in the order of the first messages',
  async (t) => {
    const { item, runner, rowsOf, refused } = await flushed(several);
    const taken: string[] = [];
    const ends = new Map<string, (end: TurnOutcome) => void>();
    const { made } = runner(t, here, sessionOfAnn(taken, ends));
    made.begin(await item());
    await eventually(() => taken.length === 4, { what: 'all have begun while the first runs' });
    t.deepEqual(taken, ['ann: a1 a2', 'ben: b1 b2', ': n1', 'cid: c1']);
    for (const end of ends.values()) end(completed);
    await eventually(async () => (await rowsOf()).every((one) => one.startsWith('done')), {
      what: 'all end',
    });
    t.deepEqual(await rowsOf(), allDone);
    t.deepEqual(await refused(), ['failed b1\nb2 ben', 'failed c1 cid']);
  },
);

test.serial('the rest of a buffer waits until its session has the turn before it', async (t) => {
  const { item, runner, rowsOf } = await flushed(several.slice(0, 2));
  const taken: string[] = [];
  const gates: (() => void)[] = [];
  const { made } = runner(t, here, async (order) => {
    taken.push(order.message);
    await new Promise<void>((resolve) => void gates.push(resolve));
    return completed;
  });
  made.begin(await item());
  await eventually(() => gates.length === 1, { what: 'the first is on its way' });
  t.deepEqual([taken, await rowsOf()], [['a1'], ['running a1', 'running b1']]);
  gates[0]?.();
  await eventually(() => taken.length === 2, { what: 'the second follows' });
  gates[1]?.();
});

test.serial('a buffer is split by whoever claims it, wherever its process died', async (t) => {
  for (const splits of [0, 1, 2]) {
    const { scope, row, runner, rowsOf, split, voidClaims, refused } = await flushed(several);
    const restId = randomUUID();
    const rows = messageRows(storeOf(here));
    const rest = splits > 0 ? (await rows.splitBuffer(scope, row, split(['ann'], restId)))?.rest : undefined;
    if (splits > 1 && rest !== undefined)
      await rows.splitBuffer(scope, { ...row, key: rest.key }, { ...split(['ben']), executionId: restId });
    await voidClaims();
    const taken: string[] = [];
    const ends = new Map<string, (end: TurnOutcome) => void>();
    const { sweep } = runner(t, there, sessionOfAnn(taken, ends));
    sweep();
    await eventually(() => taken.length === 4, { what: `all run after ${splits} splits` });
    t.deepEqual(taken.toSorted(), [': n1', 'ann: a1 a2', 'ben: b1 b2', 'cid: c1']);
    for (const end of ends.values()) end(completed);
    await eventually(async () => (await rowsOf()).every((one) => one.startsWith('done')), {
      what: 'all end',
    });
    t.deepEqual((await rowsOf()).toSorted(), allDone.toSorted());
    t.deepEqual((await refused()).toSorted(), ['failed b1\nb2 ben', 'failed c1 cid']);
  }
});

test.serial('a split whose outcome is lost loses no message', async (t) => {
  const { item, scope, runner, rowsOf, refused } = await flushed(several);
  const rows = messageRows(storeOf(here));
  let splits = 0;
  const taken: string[] = [];
  const ends = new Map<string, (end: TurnOutcome) => void>();
  const { made, sweep } = runner(t, here, sessionOfAnn(taken, ends), {
    splitBuffer: async (...given) => {
      const split = await rows.splitBuffer(...given);
      splits += 1;
      if (splits === 1) throw lost;
      return split;
    },
  });
  made.begin(await item());
  await eventually(() => taken.length === 1, { what: 'the first runs' });
  t.deepEqual(taken, ['ann: a1 a2']);
  sweep();
  await eventually(() => taken.length === 4, { what: `the rest of ${scope.tenantId} is found and runs` });
  t.deepEqual(taken, ['ann: a1 a2', 'ben: b1 b2', ': n1', 'cid: c1']);
  for (const end of ends.values()) end(completed);
  await eventually(async () => (await rowsOf()).every((one) => one.startsWith('done')), { what: 'all end' });
  t.deepEqual([await rowsOf(), await refused()], [allDone, ['failed b1\nb2 ben', 'failed c1 cid']]);
});

test.serial('a buffer that is given up before it was split ends with all its senders', async (t) => {
  const { scope, runner, rowsOf, voidClaims } = await flushed(several.slice(0, 2));
  await voidClaims();
  await owner().query("update trigger_inbox set attempts = 3 where tenant_id = $1 and state = 'running'", [
    scope.tenantId,
  ]);
  const { sweep } = runner(t, there, () => Promise.reject(new Error('no turn runs')));
  sweep();
  await eventually(async () => (await rowsOf()).join() === 'done a1 b1', { what: 'it is given up' });
  const { rows } = await owner().query('select input from executions where tenant_id = $1', [scope.tenantId]);
  t.like(rows[0]?.input, { message: 'a1\nb1', author: { kind: 'consumer', id: 'ben', others: ['ann'] } });
});

test.serial('a process that lost a buffer neither splits nor runs it', async (t) => {
  const { item, runner, rowsOf, voidClaims } = await flushed(several);
  await voidClaims();
  const ran: string[] = [];
  const { made } = runner(t, here, async ({ message }) => {
    ran.push(message);
    return completed;
  });
  made.begin(await item());
  const taken: string[] = [];
  const ends = new Map<string, (end: TurnOutcome) => void>();
  const other = runner(t, there, sessionOfAnn(taken, ends));
  other.sweep();
  await eventually(() => taken.length === 4, { what: 'the other process runs all' });
  for (const end of ends.values()) end(completed);
  await eventually(async () => (await rowsOf()).every((one) => one.startsWith('done')), { what: 'all end' });
  t.deepEqual([ran, await rowsOf()], [[], allDone]);
});

test.serial('where several people share a session, only who is refused has a turn apart', async (t) => {
  const said = several.filter(({ from }) => from !== undefined).map((one) => ({ ...one, shared: true }));
  const { item, runner, rowsOf, denied, refused } = await flushed(said);
  denied.add('ben');
  const ran: string[] = [];
  const { made } = runner(t, here, async ({ message, otherConsumers }) => {
    ran.push(message, ...otherConsumers);
    return completed;
  });
  made.begin(await item());
  await eventually(
    async () => {
      const rows = await rowsOf();
      return rows.length === 2 && rows.every((one) => one.startsWith('done'));
    },
    { what: 'both end' },
  );
  t.deepEqual(ran, ['(ann) a1\n(ann) a2\n(cid) c1', 'ann']);
  t.deepEqual(await rowsOf(), ['done a1 a2 c1', 'done b1 b2']);
  t.deepEqual(await refused(), ['blocked b1\nb2 ben']);
});

for (const [what, erase] of [
  [
    'a person',
    ({ scope }: FlushedBuffer) => {
      const time = { ...systemTime, after: (_: number, action: () => void) => systemTime.after(0, action) };
      const report = (_: string, error: unknown): void => {
        throw error;
      };
      return forgetAccepted({ store: storeOf(there), sealer, time, report })(scope, 'ben');
    },
  ],
  [
    'a session',
    ({ scope, sessionId }: FlushedBuffer) =>
      storeOf(there).inTenant(scope, (tx) =>
        tx.query(sql.typeAlias('nothing')`
          delete from sessions where tenant_id = ${scope.tenantId} and id = ${sessionId}`),
      ),
  ],
] as const)
  test.serial(`the erasure of ${what} finds the messages of a buffer that is being split`, async (t) => {
    const buffer = await flushed(several.slice(0, 2));
    const { scope, row, split, rowsOf } = buffer;
    let erased: Promise<unknown> = Promise.resolve();
    await storeOf(here).inTenant(scope, async (tx) => {
      await splitBuffer(scope, tx, row, split(['ann']));
      erased = erase(buffer);
      await eventually(
        async () => {
          const { rows } = await owner().query(
            `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
          );
          return rows.length > 0;
        },
        { what: 'the erasure waits for the split' },
      );
    });
    await erased;
    t.deepEqual(await rowsOf(), what === 'a person' ? ['running a1'] : []);
    const { rows } = await owner().query<{ key: string }>(
      'select key from trigger_inbox where tenant_id = $1',
      [scope.tenantId],
    );
    t.is(rows.length, what === 'a person' ? 2 : 0, 'no message without a row that runs it');
  });
