import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { Load, lostAndUnasked } from './load.js';
import { ProcessCluster } from './process-cluster.js';

/** Peers on a machine that does other work as well may need seconds to answer each other. */
const patient = {
  leaseMs: 10_000,
  leaseActMs: 8_000,
  leaseAdmitMs: 5_000,
  probeTimeoutMs: 1_500,
  seizeSilenceMs: 4_000,
};

for (const [what, persist] of [
  ['restarted with nothing in it', false],
  ['restarted with its data', true],
] as const) {
  test.serial(`killing Redis, and after 8 s ${what}, fails no call`, async (t) => {
    t.timeout(300_000);
    const cluster = await ProcessCluster.start(t, { workers: 3, redis: { persist }, config: patient });
    const before = cluster.workers.map((worker) => worker.viewNumber);
    const keys = cluster.workers.flatMap((worker) => cluster.keysOf(worker, 5));
    const load = new Load(t, cluster, keys, 20_000);
    await eventually(() => load.done > 50, { timeoutMs: 20_000, what: 'some additions' });
    await cluster.redis.kill();
    await eventually(
      () =>
        cluster.workers.every((worker) => worker.events.filter((event) => event === 'confirmed').length > 5),
      {
        timeoutMs: 30_000,
        what: 'each goes on by the word of the others',
      },
    );
    await cluster.redis.restart();
    await eventually(() => cluster.workers.every((worker) => worker.events.includes('store_back')), {
      timeoutMs: 20_000,
      what: 'each renews again',
    });
    const outcome = await load.stop();
    const { lost, unasked } = await lostAndUnasked(cluster, outcome);
    t.log(
      `${outcome.failed.length} failed of ${load.done}, slowest ${Math.round(outcome.slowestMs)} ms; lost ${lost}`,
    );
    t.deepEqual(outcome.failed, []);
    t.is(lost, 0);
    t.is(unasked, 0);
    t.deepEqual(
      cluster.workers.map((worker) => worker.viewNumber),
      before,
      'nobody was removed',
    );
    t.true(cluster.workers.every((worker) => !worker.hasEnded));
  });
}

test.serial('flushing Redis fails no call and removes no member', async (t) => {
  t.timeout(300_000);
  const cluster = await ProcessCluster.start(t, { workers: 3 });
  const before = cluster.workers.map((worker) => worker.viewNumber);
  const keys = cluster.workers.flatMap((worker) => cluster.keysOf(worker, 5));
  const load = new Load(t, cluster, keys, 20_000);
  await cluster.redis.flush();
  await eventually(
    () =>
      cluster.workers.every(
        (worker) => worker.events.filter((event) => event === 'new_generation').length > 1,
      ),
    {
      timeoutMs: 20_000,
      what: 'each noticed',
    },
  );
  const settledAt = load.done + 200;
  await eventually(() => load.done > settledAt, { timeoutMs: 20_000, what: 'more additions' });
  const outcome = await load.stop();
  t.deepEqual(outcome.failed, []);
  t.deepEqual(
    cluster.workers.map((worker) => worker.viewNumber),
    before,
  );
});
