import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { Load, lostAndUnasked } from './load.js';
import { ProcessCluster } from './process-cluster.js';

test.serial('a rolling restart of every process fails no call that may be repeated', async (t) => {
  t.timeout(300_000);
  const cluster = await ProcessCluster.start(t, { workers: 3 });
  const keys = Array.from({ length: 30 }, (_, index) => `rolling-${index}`);
  const load = new Load(t, cluster, keys, 30_000);
  await eventually(() => load.done > 100, { timeoutMs: 20_000, what: 'some additions' });
  const startedMs = performance.now();
  for (const old of cluster.workers.slice(0, 3)) {
    await cluster.startWorker();
    old.signal('SIGTERM');
    t.is(await old.exited, 0, `${old.name} drained`);
  }
  const fresh = cluster.workers.slice(3);
  await cluster.agreed(fresh);
  const tookMs = performance.now() - startedMs;
  const outcome = await load.stop();
  const { lost, unasked } = await lostAndUnasked(cluster, outcome);
  t.log(
    `three processes replaced in ${Math.round(tookMs)} ms; ${outcome.failed.length} failed of ${load.done}, ` +
      `slowest ${Math.round(outcome.slowestMs)} ms; lost ${lost}`,
  );
  t.deepEqual(outcome.failed, []);
  t.is(lost, 0);
  t.is(unasked, 0);
});
