// What becomes of messages that a process finds, by how often and how they were run before. The store is real.
import { randomBytes, randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { systemTime } from '../../../cluster/index.js';
import { InboxRunner, type InboxRunnerParts } from '../../../src/automation/inbox/inbox-runner.js';
import { messageRows } from '../../../src/automation/inbox/message-rows.js';
import type { InboxMessage } from '../../../src/automation/messages/inbox-message.js';
import { TurnWaits } from '../../../src/automation/inbox/session-turns.js';
import { MessageSealer } from '../../../src/automation/messages/message-payload.js';
import type { TurnOutcome } from '../../../src/automation/triggers/ports.js';
import { systemPlatform } from '../../../src/infra/platform/index.js';
import { createSealer } from '../../../src/infra/sealing/index.js';
import { openStore, type Store, StoreError } from '../../../src/infra/storage/index.js';
import { PlatformError } from '../../../src/kernel/errors.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { EndedMessages } from '../../support/builders/ended-messages.js';
import { liveTrigger } from '../../support/builders/live-trigger.js';
import { eventually } from '../../support/clocks/eventually.js';

const messages = new EndedMessages(test);
const seal = new MessageSealer(createSealer({ masterKey: randomBytes(32), random: systemPlatform.random }));
const sweepEveryMs = 2_000;
const process = `member-${randomUUID()}`;
let store: Store;

test.serial.before(async () => {
  store = await openStore({ databaseUrl: messages.url, process });
});
test.after.always(() => store.close());

const completed: TurnOutcome = {
  outcome: 'COMPLETED',
  content: 'answer',
  totalTokens: 1,
  latencyMs: 1,
  error: undefined,
};

/** The time of the store, with all its digits. */
async function storeTime(): Promise<string> {
  const { rows } = await messages.owner.query<{ now: string }>('select clock_timestamp()::text as now');
  return rows[0]?.now ?? '';
}

interface Given extends Partial<Pick<InboxRunnerParts['turns'], 'outcomeOf' | 'isKnown'>> {
  /** How often it was taken up before. */
  readonly attempts?: number;
  readonly ageMs?: number;
  readonly isDenied?: boolean;
  readonly runTurn?: () => Promise<TurnOutcome>;
  /** Why its end is not written. */
  readonly unfinished?: Error;
}

/** A message that no process holds, and a process that looks for such messages when the test says so. */
async function leftBehind(t: ExecutionContext, given: Given) {
  const { attempts = 1, ageMs = 0, isDenied = false, runTurn = async () => completed } = given;
  const scope = tenantScope(await messages.tenant());
  const [triggerId, executionId, sessionId] = [randomUUID(), randomUUID(), randomUUID()];
  const work = { message: 'hello', context: {}, requestId: 'r', consumerKey: 'somebody' };
  const sealed = seal.seal(scope, work);
  await messages.owner.query(
    `insert into trigger_inbox (tenant_id, trigger_id, key, session_id, execution_id, state, payload_hash, sealed, attempts,
        created_at, due_at, expires_at)
      values ($1, $2, 'key', $3, $4, 'running', '', $5, $6, now() - $7 * interval '1 millisecond',
        now() - interval '1 second', now() + interval '1 day')`,
    [scope.tenantId, triggerId, sessionId, executionId, sealed, attempts, ageMs],
  );
  const live = liveTrigger(scope, triggerId);
  const sweeps: (() => void)[] = [];
  const ran: string[] = [];
  const reported: string[] = [];
  const announced: string[] = [];
  const finished: string[] = [];
  const runner = new InboxRunner({
    rows: messageRows(store),
    live: { get: async (id) => (id === triggerId ? live : undefined) },
    senderBlocks: { isRefused: async () => isDenied },
    turns: {
      runTurn: (order) => {
        ran.push(order.executionId);
        return runTurn();
      },
      outcomeOf: given.outcomeOf ?? (async () => undefined),
      isKnown: given.isKnown ?? (async () => false),
    },
    sender: {
      finish: async (_scope, { key }) => {
        finished.push(key ?? '');
        if (given.unfinished !== undefined) throw given.unfinished;
      },
      announce: (_scope, id) => void announced.push(id),
    },
    seal,
    plainTexts: (_, text) => text,
    ids: systemPlatform.ids,
    time: {
      ...systemTime,
      after: (ms, action) => {
        if (ms === sweepEveryMs) sweeps.push(action);
        return { cancel: () => undefined };
      },
    },
    scopeOf: tenantScope,
    report: (attempted, error) => {
      if (error === given.unfinished) reported.push(attempted);
      else t.fail(`${attempted}: ${String(error)}`);
    },
  });
  t.teardown(() => runner.stop());
  runner.start();
  const item: InboxMessage = {
    scope,
    triggerId,
    sessionId,
    executionId,
    work,
    row: { trigger_id: triggerId, key: 'key', seq: 1 },
    attempts: 1,
    ageMs: 0,
  };
  const sweep = (): void => sweeps.splice(0).forEach((look) => look());
  /** `waits`: no process holds it, and none takes it up in the second after `since`. */
  const row = async (since = 'infinity') => {
    const { rows } = await messages.owner.query<{ state: string; attempts: number; waits: boolean }>(
      `select state, attempts, claimed_by is null and due_at > $2::timestamptz + interval '1 second' as waits
        from trigger_inbox where execution_id = $1`,
      [executionId, since],
    );
    return rows[0];
  };
  /** What became of its answer. */
  const delivery = async () => {
    const { rows } = await messages.owner.query<{ status: string; last_error: string }>(
      'select status, last_error from deliveries where execution_id = $1',
      [executionId],
    );
    return rows[0];
  };
  return { runner, item, ran, finished, reported, announced, sweep, row, delivery };
}

test.serial('a message whose processes died too often is given up without a further turn', async (t) => {
  const { ran, sweep, row } = await leftBehind(t, { attempts: 3 });
  sweep();
  await eventually(async () => ran.length > 0 || (await row())?.state === 'done', {
    what: 'it ends or runs',
  });
  t.deepEqual(ran, []);
});

test.serial('a message whose turn has ended is not given up, however often it was taken up', async (t) => {
  const { ran, finished, sweep, row } = await leftBehind(t, {
    attempts: 3,
    outcomeOf: async () => completed,
  });
  sweep();
  const isOver = async (): Promise<boolean> => finished.length > 0 || (await row())?.state === 'done';
  await eventually(isOver, { what: 'its answer is put into the outbox' });
  t.deepEqual([ran.length, finished.length], [1, 1]);
});

test.serial(
  'a message whose end is refused for good ends, and its answer fails with the reason',
  async (t) => {
    const unfinished = new StoreError('check', 'Writing the batch: check, constraint of the row');
    const { item, reported, announced, sweep, row, delivery } = await leftBehind(t, { unfinished });
    sweep();
    await eventually(async () => (await row())?.state === 'done', { what: 'the message ends' });
    const failed = await delivery();
    t.is(failed?.status, 'delivery_failed');
    t.regex(failed?.last_error ?? '', /could not be put into the outbox \(check\)/);
    t.deepEqual(reported, ['ending a message of a trigger']);
    await eventually(() => announced.length > 0, { what: 'the next answers of the session are looked for' });
    t.deepEqual(announced, [item.sessionId]);
  },
);

test.serial('a message whose end fails by a fault of the program ends after the last attempt', async (t) => {
  const unfinished = new TypeError('nothing is here');
  const first = await leftBehind(t, { unfinished, attempts: 2, outcomeOf: async () => completed });
  first.sweep();
  await eventually(() => first.reported.length > 0, { what: 'the failure is reported' });
  t.deepEqual([(await first.row())?.state, await first.delivery()], ['running', undefined]);
  const last = await leftBehind(t, { unfinished, attempts: 3, outcomeOf: async () => completed });
  last.sweep();
  await eventually(async () => (await last.row())?.state === 'done', { what: 'the message ends' });
  t.is((await last.delivery())?.status, 'delivery_failed');
});

test.serial(
  'a message that its session refuses for now is put off, and the attempt does not count',
  async (t) => {
    let refusedAt: string | undefined;
    const { ran, sweep, row } = await leftBehind(t, {
      runTurn: async () => {
        refusedAt = await storeTime();
        throw new PlatformError('rate_limit_exceeded');
      },
    });
    sweep();
    const isDecided = async (): Promise<boolean> => {
      const now = await row(refusedAt);
      return now?.waits === true || now?.state === 'done';
    };
    await eventually(isDecided, { what: 'the message waits' });
    t.deepEqual(await row(refusedAt), { state: 'running', attempts: 1, waits: true });
    t.is(ran.length, 1);
  },
);

const day = 24 * 3_600_000;
const late: readonly {
  readonly what: string;
  readonly ageMs: number;
  readonly isKnown: boolean;
  readonly error: PlatformError;
  readonly ends: boolean;
}[] = [
  {
    what: 'whose turn its session has is put off, however long the session does not answer',
    ageMs: 3_700_000,
    isKnown: true,
    error: new PlatformError('service_unavailable'),
    ends: false,
  },
  {
    what: 'whose turn waits is put off for more than the days of an approval',
    ageMs: 8 * day,
    isKnown: true,
    error: new TurnWaits(),
    ends: false,
  },
  {
    what: 'whose turn its session has is put off, although the tenant has no tokens left',
    ageMs: 60_000,
    isKnown: true,
    error: new PlatformError('quota_exceeded'),
    ends: false,
  },
  {
    what: 'that no session has ends when the tenant has no tokens left',
    ageMs: 60_000,
    isKnown: false,
    error: new PlatformError('quota_exceeded'),
    ends: true,
  },
  {
    what: 'that no session has is given up after an hour',
    ageMs: 3_700_000,
    isKnown: false,
    error: new PlatformError('service_unavailable'),
    ends: true,
  },
  {
    what: 'whose turn never ends is given up at last',
    ageMs: 31 * day,
    isKnown: true,
    error: new TurnWaits(),
    ends: true,
  },
];

for (const { what, ageMs, isKnown, error, ends } of late) {
  test.serial(`a message ${what}`, async (t) => {
    let refusedAt: string | undefined;
    const { sweep, row } = await leftBehind(t, {
      ageMs,
      isKnown: async () => isKnown,
      runTurn: async () => {
        refusedAt = await storeTime();
        throw error;
      },
    });
    sweep();
    const decided = await eventually(
      async () => {
        const now = await row(refusedAt);
        return now?.waits === true || now?.state === 'done' ? now : undefined;
      },
      { what: 'the message waits or ends' },
    );
    t.is(decided.state, ends ? 'done' : 'running');
  });
}

test.serial('a sender that was denied while its message waited gets no turn', async (t) => {
  const { ran, sweep, row } = await leftBehind(t, { isDenied: true });
  sweep();
  await eventually(async () => ran.length > 0 || (await row())?.state === 'done', {
    what: 'it ends or runs',
  });
  t.deepEqual(ran, []);
});

test.serial('a message that runs here is joined by a second call, and runs once', async (t) => {
  const ends: ((outcome: TurnOutcome) => void)[] = [];
  const { runner, item, ran } = await leftBehind(t, {
    runTurn: () => new Promise((resolve) => void ends.push(resolve)),
  });
  const both = [runner.run(item), runner.run(item)];
  await eventually(() => ran.length > 0, { what: 'the turn runs' });
  ends.forEach((end) => end(completed));
  t.deepEqual(await Promise.all(both), [completed, completed]);
  t.is(ran.length, 1);
});

test.serial(
  'a message that is accepted while its process leaves is given to the others at once',
  async (t) => {
    const { runner, item, ran, row } = await leftBehind(t, {});
    await runner.leave();
    await messages.owner.query(
      `update trigger_inbox set claimed_by = $2, due_at = now() + interval '1 minute' where execution_id = $1`,
      [item.executionId, process],
    );
    runner.begin(item);
    const isFree = async (): Promise<boolean> => {
      const { rows } = await messages.owner.query<{ free: boolean }>(
        `select claimed_by is null and due_at <= clock_timestamp() as free from trigger_inbox where execution_id = $1`,
        [item.executionId],
      );
      return rows[0]?.free === true;
    };
    await eventually(isFree, { what: 'the row is given back' });
    t.is((await row())?.state, 'running');
    t.deepEqual(ran, []);
  },
);
