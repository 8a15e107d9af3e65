// A repeat of a request joins the running call. Whatever becomes of the first caller then is no concern of the repeat.

import test from 'ava';
import type { Call } from '../../../cluster/activation/call.js';
import { volatileActor } from '../../../cluster/activation/kind.js';
import { ClusterError } from '../../../cluster/errors.js';
import { sleep } from '../../../cluster/time/time.js';
import { CounterServiceDefinition } from '../../../generated/troupe/examples/v1/counter.js';
import { SimulatedCluster } from '../../support/servers/simulated-cluster.js';

/** A counter on one of two nodes whose additions take a second, and what its handler sees of its calls. */
async function slowCounter() {
  const cluster = new SimulatedCluster();
  const seen: { runs: number; aborted: boolean; leftMs: number } = { runs: 0, aborted: false, leftMs: 0 };
  const kind = volatileActor({
    service: CounterServiceDefinition,
    create: () => ({
      add: async ({ amount }: { amount: number }, call: Call) => {
        seen.runs += 1;
        call.signal.addEventListener('abort', () => {
          seen.aborted = true;
        });
        await sleep(cluster.time, 1_000);
        seen.leftMs = call.deadlineAtMs - cluster.time.monotonicMs();
        return { sum: amount };
      },
      // Asks for something that ends with its own deadline.
      where: async (_: unknown, call: Call) => {
        seen.runs += 1;
        if (seen.runs > 1) return { process: 'again' };
        await sleep(cluster.time, call.deadlineAtMs - cluster.time.monotonicMs() + 100);
        throw new ClusterError('deadline_exceeded', 'what it asked for did not end in time');
      },
      read: () => ({ sum: 0 }),
      async *count() {},
    }),
  });
  for (const name of ['n1', 'n2']) await cluster.add(cluster.host(name), [kind]);
  await cluster.join();
  const counterAt = (caller: number) => {
    const found = cluster.nodes[caller];
    if (found === undefined) throw new Error(`node ${caller} does not exist`);
    return found.node.actor(kind, 'acme', 'slow');
  };
  return { cluster, seen, counterAt };
}

const callers = [
  [0, 0],
  [0, 1],
  [1, 0],
  [1, 1],
] as const;

for (const [first, second] of callers) {
  test(`a repeat gets the answer of the call that it joined, although the first caller cancels: nodes ${first} and ${second}`, async (t) => {
    const { cluster, seen, counterAt } = await slowCounter();
    const leaving = new AbortController();
    const options = { requestId: 'r', deadlineMs: 5_000 };
    const one = counterAt(first).add({ amount: 4 }, { ...options, signal: leaving.signal });
    await cluster.time.advance(100);
    const other = counterAt(second).add({ amount: 4 }, options);
    await cluster.time.advance(100);
    leaving.abort();
    await t.throwsAsync(cluster.settle(one), { message: /^cancelled/ });
    t.deepEqual(await cluster.settle(other), { sum: 4 });
    t.is(seen.runs, 1);
    t.false(seen.aborted);
    t.deepEqual(await cluster.settle(counterAt(first).add({ amount: 4 }, options)), { sum: 4 });
    t.is(seen.runs, 1, 'the answer is remembered');
  });

  test(`a repeat gets the answer of the call that it joined, although the first deadline passes: nodes ${first} and ${second}`, async (t) => {
    const { cluster, seen, counterAt } = await slowCounter();
    const one = counterAt(first).add({ amount: 4 }, { requestId: 'r', deadlineMs: 400 });
    const ended = t.throwsAsync(one, { message: /^deadline_exceeded/ });
    await cluster.time.advance(100);
    const other = counterAt(second).add({ amount: 4 }, { requestId: 'r', deadlineMs: 5_000 });
    await cluster.time.advance(500);
    await ended;
    t.deepEqual(await cluster.settle(other), { sum: 4 });
    t.is(seen.runs, 1);
    t.false(seen.aborted);
    t.true(seen.leftMs > 3_500, `the handler has ${seen.leftMs} ms of the deadline of the repeat left`);
  });
}

test('a call that waits in the mailbox goes on for its repeat when its caller cancels', async (t) => {
  const { cluster, seen, counterAt } = await slowCounter();
  const counter = counterAt(0);
  const before = counter.add({ amount: 1 });
  await cluster.time.advance(100);
  const leaving = new AbortController();
  const one = counter.add({ amount: 4 }, { requestId: 'r', signal: leaving.signal });
  const other = counter.add({ amount: 4 }, { requestId: 'r' });
  await cluster.time.advance(100);
  leaving.abort();
  await t.throwsAsync(cluster.settle(one), { message: /^cancelled/ });
  t.deepEqual(await cluster.settle(Promise.all([before, other])), [{ sum: 1 }, { sum: 4 }]);
  t.is(seen.runs, 2);
});

test('a call ends once its caller and every repeat have gone, and the next repeat runs again', async (t) => {
  const { cluster, seen, counterAt } = await slowCounter();
  const leaving = [new AbortController(), new AbortController(), new AbortController()];
  const calls = leaving.map(({ signal }) => counterAt(0).add({ amount: 4 }, { requestId: 'r', signal }));
  const ended = Promise.allSettled(calls);
  await cluster.time.advance(100);
  for (const [index, one] of leaving.entries()) {
    t.false(seen.aborted, `${index} of three have gone`);
    one.abort();
    await cluster.time.advance(100);
  }
  t.true(seen.aborted);
  t.true((await ended).every(({ status }) => status === 'rejected'));
  t.deepEqual(await cluster.settle(counterAt(1).add({ amount: 4 }, { requestId: 'r' })), { sum: 4 });
  t.is(seen.runs, 2);
});

test('a repeat may be sent again if what the handler had asked for ended with the first caller', async (t) => {
  const { cluster, counterAt } = await slowCounter();
  const one = counterAt(0).where({}, { requestId: 'r', deadlineMs: 400 });
  const ended = t.throwsAsync(one, { message: /^deadline_exceeded/ });
  const options = { requestId: 'r', deadlineMs: 20_000 };
  const other = t.throwsAsync(counterAt(1).where({}, options), { instanceOf: ClusterError });
  await cluster.time.advance(1_000);
  await ended;
  const failure = await cluster.settle(other);
  t.is(failure?.tag, 'outcome_unknown');
  t.is(failure?.retry, 'same');
  t.deepEqual(await cluster.settle(counterAt(1).where({}, options)), { process: 'again' });
});
