import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { systemPlatform } from '../../../src/infra/platform/index.js';
import { systemTime } from '../../../cluster/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { limitsOf } from '../../../src/kernel/plans/index.js';
import { createSealer } from '../../../src/infra/sealing/index.js';
import { StoreError } from '../../../src/infra/storage/index.js';
import { parseTriggerConfig } from '../../../src/automation/triggers/config/trigger-config.js';
import type { InboxMessage } from '../../../src/automation/messages/inbox-message.js';
import { InboxRunner } from '../../../src/automation/inbox/inbox-runner.js';
import { TurnWaits } from '../../../src/automation/inbox/session-turns.js';
import { PlatformError } from '../../../src/kernel/errors.js';
import type { MessageRows } from '../../../src/automation/inbox/message-rows.js';
import { InboxRows } from '../../../src/automation/intake/inbox-rows.js';
import type { Incoming } from '../../../src/automation/intake/incoming-request.js';
import { MessageSealer } from '../../../src/automation/messages/message-payload.js';
import type { TurnOrder } from '../../../src/automation/triggers/ports.js';

const id = '00000000-0000-4000-8000-000000000001';
const scope = tenantScope(id);

const sealer = new MessageSealer(createSealer({ masterKey: randomBytes(32), random: systemPlatform.random }));

const item: InboxMessage = {
  scope,
  triggerId: id,
  sessionId: id,
  executionId: id,
  work: { message: 'hello', context: {}, requestId: 'r' },
  row: { trigger_id: id, key: 'key', seq: 1 },
  attempts: 1,
  ageMs: 0,
};

/** The test fires its timers, by their length. */
function runner(
  t: ExecutionContext,
  runTurn: (order: TurnOrder) => Promise<never>,
  given: Partial<MessageRows> = {},
) {
  const timers: { readonly ms: number; readonly action: () => void }[] = [];
  const asked: string[] = [];
  let nowMs = 0;
  const refused = (what: string) => () => {
    asked.push(what);
    return Promise.reject(new StoreError('overloaded', 'everybody waits'));
  };
  const parsed = parseTriggerConfig('webhook', {
    auth: { type: 'none' },
    execution: { mode: 'async', callback: { url: 'https://receiver.example/' } },
  });
  const live = {
    id,
    scope,
    limits: limitsOf('free', {}),
    agentId: id,
    enabled: true,
    suspended: false,
    revision: 1,
    parsed,
    secrets: [],
    formerSecretUntilMs: 0,
  };
  const made = new InboxRunner({
    rows: {
      claimLeftBehind: refused('messages left behind'),
      renewClaims: refused('longer claims'),
      releaseOwnClaims: refused('the end of claims'),
      deleteOld: refused('old messages'),
      ownPlace: refused('a place'),
      ownMessage: refused('a payload'),
      splitBuffer: refused('a split'),
      reschedule: refused('a pause'),
      setAnswerCut: refused('a cut answer'),
      end: refused('an end'),
      giveUp: refused('an end'),
      endUnsent: refused('an end'),
      putDelivery: refused('a delivery'),
      ...given,
    },
    live: { get: async () => live },
    senderBlocks: { isRefused: async () => false },
    turns: { runTurn, outcomeOf: async () => undefined, isKnown: async () => false },
    sender: { finish: () => Promise.reject(new Error('nothing ends')), announce: () => undefined },
    seal: sealer,
    plainTexts: (_, text) => text,
    ids: systemPlatform.ids,
    time: {
      ...systemTime,
      monotonicMs: () => nowMs,
      after: (ms, action) => {
        timers.push({ ms, action });
        return { cancel: () => undefined };
      },
    },
    scopeOf: tenantScope,
    report: () => undefined,
  });
  t.teardown(() => made.stop());
  const fire = async (ms: number): Promise<void> => {
    const [timer] = timers.splice(
      timers.findIndex((one) => one.ms === ms),
      1,
    );
    timer?.action();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { made, fire, pass, asked };
}

test('a message that finds the store full stays queued and starts again shortly', async (t) => {
  const orders: TurnOrder[] = [];
  const { made, fire, asked } = runner(t, async (order) => {
    orders.push(order);
    throw new StoreError('overloaded', 'everybody waits');
  });
  made.start();
  await fire(20_000);
  t.deepEqual(asked, [], 'nothing to hold on to yet');
  made.begin(item);
  await new Promise((resolve) => setImmediate(resolve));
  t.is(orders.length, 1);
  await fire(20_000);
  t.deepEqual(asked, ['longer claims'], 'held on to, so that nobody else takes it up meanwhile');
  await fire(1_000);
  t.is(orders.length, 2);
  t.true(orders[1]?.isRepeat, 'the turn may have ended before');
  await fire(1_000);
  t.is(orders.length, 3);
});

test('a message whose commit is unknown runs once its row is found', async (t) => {
  const orders: TurnOrder[] = [];
  const places = [Promise.reject(new StoreError('unavailable', 'away')), null, 7];
  const runTurn = async (order: TurnOrder): Promise<never> => {
    orders.push(order);
    throw new StoreError('overloaded', 'everybody waits');
  };
  const sealed = sealer.seal(scope, item.work);
  const { made, fire } = runner(t, runTurn, {
    ownPlace: async () => (await places.shift()) ?? null,
    ownMessage: async () => ({ is_behind: false, parts: [sealed] }),
  });
  made.beginIfAccepted(item);
  await fire(1_000);
  await fire(1_000);
  t.is(orders.length, 0, 'it is not there yet');
  await fire(1_000);
  t.is(orders.length, 1);
  t.true(orders[0]?.isRepeat);
});

test('a message that waited in memory runs only if it is still accepted', async (t) => {
  const orders: TurnOrder[] = [];
  const runTurn = async (order: TurnOrder): Promise<never> => {
    orders.push(order);
    throw new StoreError('overloaded', 'everybody waits');
  };
  const sealed = sealer.seal(scope, { ...item.work, message: 'what is left' });
  const answers = [[sealed], new StoreError('unavailable', 'away'), undefined];
  const { made, fire, pass } = runner(t, runTurn, {
    ownMessage: async () => {
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer && { is_behind: false, parts: answer };
    },
  });
  made.begin(item);
  await new Promise((resolve) => setImmediate(resolve));
  await fire(1_000);
  t.is(orders.length, 2, 'it is fresh');
  pass(6_000);
  await fire(1_000);
  t.deepEqual(
    orders.map(({ message }) => message),
    ['hello', 'hello', 'what is left'],
  );
  await fire(1_000);
  t.is(answers.length, 1, 'the store was asked, and away');
  await fire(1_000);
  t.is(answers.length, 0);
  await fire(1_000);
  t.is(orders.length, 3, 'erased meanwhile: it is not tried again');
});

test('claims of which no answer came are given up, except those on what runs here', async (t) => {
  const given: unknown[] = [];
  const claims = [Promise.reject(new StoreError('outcome-unknown', 'lost')), []];
  const { made, fire } = runner(t, () => new Promise<never>(() => undefined), {
    claimLeftBehind: async () => (await claims.shift()) ?? [],
    releaseOwnClaims: async (kept) => void given.push(kept),
  });
  made.start();
  made.begin(item);
  await fire(2_000);
  t.deepEqual(given, []);
  await fire(2_000);
  t.deepEqual(given, [[id]]);
  await fire(2_000);
  t.is(given.length, 1, 'once');
});

/** A message written by a batch that finds its key, in the row of this execution. */
function writing(execution: string | Error, written: 'present' | StoreError = 'present') {
  const begun: string[] = [];
  const rows = new InboxRows({
    inbox: {
      write: async () => {
        if (written !== 'present') throw written;
        return { fate: 'present', buffered: 0, seq: 0, isBehind: false };
      },
    },
    reads: {
      inTenant: async () => {
        if (execution instanceof Error) throw execution;
        return [{ execution_id: execution, seq: 7 }] as never[];
      },
    },
    seal: { seal: () => Buffer.from('sealed') },
    runner: { beginIfAccepted: ({ executionId }) => void begun.push(executionId) },
    ownKey: () => 'own',
  });
  const incoming: unknown = {
    trigger: { scope, id },
    key: undefined,
    executionId: id,
    sessionId: id,
    hash: '',
  };
  const wish = { state: 'running', answer: undefined, asks: true } as const;
  const work = { message: 'hello', context: {}, requestId: 'r' };
  return { begun, write: () => rows.write(incoming as Incoming, work, wish) };
}

test('a batch that is written again after a lost answer knows its own message from a repeat', async (t) => {
  t.deepEqual((await writing(id).write()).acceptance, {
    fate: 'accepted',
    buffered: 0,
    seq: 7,
    isBehind: true,
  });
  const another = '00000000-0000-4000-8000-000000000002';
  t.is((await writing(another).write()).acceptance.fate, 'present');
});

test('a message whose acceptance is unknown is looked for', async (t) => {
  const lost = new StoreError('outcome-unknown', 'lost');
  for (const { begun, write } of [writing(id, lost), writing(new StoreError('unavailable', 'away'))]) {
    await t.throwsAsync(write());
    t.deepEqual(begun, [id]);
  }
  const { begun, write } = writing(id, new StoreError('unavailable', 'nothing was written'));
  await t.throwsAsync(write());
  t.deepEqual(begun, []);
});

test('a message whose end may not be committed ends again here', async (t) => {
  const orders: TurnOrder[] = [];
  const { made, fire } = runner(t, async (order) => {
    orders.push(order);
    throw new StoreError('outcome-unknown', 'no commit in time');
  });
  made.begin(item);
  await new Promise((resolve) => setImmediate(resolve));
  await fire(1_000);
  t.is(orders.length, 2);
});

test('a message that nobody can read is given up after an hour, since its session waits for it', async (t) => {
  const row = (age_ms: number, attempts: number) => ({
    tenant_id: id,
    trigger_id: id,
    key: 'key',
    seq: 1,
    session_id: id,
    execution_id: id,
    attempts,
    age_ms,
  });
  const hour = 3_600_000;
  const claims = [[row(hour - 1, 9)], [row(hour, 3)], [row(hour, 4)]];
  const ends: unknown[] = [];
  const { made, fire } = runner(t, () => Promise.reject(new Error('it runs no turn')), {
    claimLeftBehind: async () => claims.shift() ?? [],
    ownMessage: async () => ({ is_behind: false, parts: [Buffer.from('not sealed by this key')] }),
    giveUp: async (_, { execution }) => {
      ends.push(execution?.error?.code);
      return true;
    },
  });
  made.start();
  await fire(2_000);
  await fire(2_000);
  t.deepEqual(ends, []);
  await fire(2_000);
  t.deepEqual(ends, ['internal_error']);
});

test('of what was left behind a few messages are read at once, and of each tenant fewer', async (t) => {
  const calm = '00000000-0000-4000-8000-000000000002';
  const row = (tenant_id: string, nth: number) => {
    const execution_id = `00000000-0000-4000-8000-${String(1_000 + nth).padStart(12, '0')}`;
    const place = { trigger_id: id, key: `key ${nth}`, seq: nth, session_id: execution_id, execution_id };
    return { ...place, tenant_id, attempts: 2, age_ms: 1_000 };
  };
  const claimed = [...Array.from({ length: 20 }, (_, nth) => row(id, nth)), row(calm, 20)];
  const reads: { readonly tenantId: string; readonly end: () => void }[] = [];
  const orders: TurnOrder[] = [];
  const runTurn = (order: TurnOrder): Promise<never> => {
    orders.push(order);
    return new Promise(() => undefined);
  };
  const { made, fire } = runner(t, runTurn, {
    claimLeftBehind: async () => claimed.splice(0),
    ownMessage: async ({ tenantId }) => {
      await new Promise<void>((end) => void reads.push({ tenantId, end }));
      return { is_behind: false, parts: [sealer.seal(tenantScope(tenantId), item.work)] };
    },
  });
  made.start();
  await fire(2_000);
  for (let round = 0; round < 10; round += 1) await fire(20);
  t.deepEqual(
    reads.map(({ tenantId }) => tenantId),
    [id, id, id, calm],
  );
  reads.at(-1)?.end();
  await new Promise((resolve) => setImmediate(resolve));
  t.deepEqual(
    orders.map(({ scope: { tenantId } }) => tenantId),
    [calm],
    'it waits for none of the others',
  );
});

test('the hour of a message begins with its acceptance, and ends when its session has it', async (t) => {
  const kept = { pass: (_ms: number): void => undefined };
  const failures = [new TurnWaits(), new PlatformError('rate_limit_exceeded')];
  const { made, pass, asked } = runner(t, async () => {
    kept.pass(3_700_000);
    throw failures.shift() ?? new Error('it runs twice');
  });
  kept.pass = pass;
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  made.begin(item);
  await settled();
  t.deepEqual(asked, ['a pause'], 'its turn waits for a person');
  const place = { trigger_id: id, key: 'other', seq: 2 };
  made.begin({
    ...item,
    row: place,
    executionId: '00000000-0000-4000-8000-000000000003',
    sessionId: 'other',
  });
  await settled();
  t.deepEqual(asked, ['a pause', 'an end'], 'no session had it for an hour');
});
