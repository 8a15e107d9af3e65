import test from 'ava';
import { systemTime } from '../../../cluster/index.js';
import { tenantScope } from '../../../src/context/tenant-scope.js';
import { StoreError } from '../../../src/storage/index.js';
import { Runner, type RunnerParts } from '../../../src/triggers/inbox/runner.js';
import type { TurnOrder } from '../../../src/triggers/ports.js';

const id = '00000000-0000-4000-8000-000000000001';

/** Everything of a runner that its turns do not reach here is left out. */
function runner(runTurn: (order: TurnOrder) => Promise<never>) {
  const timers: { readonly ms: number; readonly action: () => void }[] = [];
  const held: (readonly string[])[] = [];
  const made = new Runner({
    live: {
      get: () => ({
        id,
        agentId: id,
        limits: {},
        parsed: { type: 'webhook', config: { execution: { mode: 'async', timeout_ms: 1_000 } } },
      }),
    },
    gates: { isDenied: () => false },
    turns: { runTurn },
    sender: { hint: () => undefined },
    store: {
      directory: (work: (tx: object) => Promise<unknown>) =>
        work({
          query: ({ values }: { values: [number, readonly string[]] }) => held.push(values[1]),
          any: () => [],
        }),
    },
    time: {
      ...systemTime,
      after: (ms: number, action: () => void) => {
        timers.push({ ms, action });
        return { cancel: () => undefined };
      },
    },
    report: () => undefined,
  } as unknown as RunnerParts);
  const fire = async (ms: number): Promise<void> => {
    const at = timers.findIndex((timer) => timer.ms === ms);
    const [timer] = timers.splice(at, 1);
    if (at < 0 || timer === undefined) throw new Error(`no timer of ${ms} ms`);
    timer.action();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { made, fire, held };
}

test('a message that the store had no place for stays here, and is begun again in a moment', async (t) => {
  const orders: TurnOrder[] = [];
  const { made, fire, held } = runner(async (order) => {
    orders.push(order);
    throw new StoreError('overloaded', 'everybody waits');
  });
  made.start();
  made.begin({
    scope: tenantScope(id),
    triggerId: id,
    sessionId: id,
    executionId: id,
    agentId: id,
    work: { message: 'hello', context: {}, consumerKey: undefined, requestId: 'r' },
    row: { trigger_id: id, key: 'key', seq: 1 },
    attempts: 1,
    ageMs: 0,
  } as unknown as Parameters<typeof made.begin>[0]);
  await new Promise((resolve) => setImmediate(resolve));
  t.is(orders.length, 1);
  // Nobody else takes it up meanwhile.
  await fire(20_000);
  t.deepEqual(held, [[id]]);
  await fire(1_000);
  t.is(orders.length, 2);
  t.true(orders[1]?.isRepeat, 'the turn may have ended before');
  await fire(1_000);
  t.is(orders.length, 3);
  made.stop();
});
