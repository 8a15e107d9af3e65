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
import { MessageSealer } from '../../../src/automation/messages/message-payload.js';
import type { TurnOrder } from '../../../src/automation/triggers/ports.js';

const id = '00000000-0000-4000-8000-000000000001';
const scope = tenantScope(id);

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
function runner(t: ExecutionContext, runTurn: (order: TurnOrder) => Promise<never>) {
  const timers: { readonly ms: number; readonly action: () => void }[] = [];
  const asked: string[] = [];
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
      reschedule: refused('a pause'),
      setAnswerCut: refused('a cut answer'),
      end: refused('an end'),
      giveUp: refused('an end'),
      putDelivery: refused('a delivery'),
    },
    live: { get: async () => live },
    senderBlocks: { isDenied: () => false },
    turns: { runTurn, outcomeOf: async () => undefined },
    sender: { finish: () => Promise.reject(new Error('nothing ends')), announce: () => undefined },
    seal: new MessageSealer(createSealer({ masterKey: randomBytes(32), random: systemPlatform.random })),
    plainTexts: (_, text) => text,
    ids: systemPlatform.ids,
    time: {
      ...systemTime,
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
  return { made, fire, asked };
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
