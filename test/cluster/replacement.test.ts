import test, { type ExecutionContext } from 'ava';
import { eventually } from '../support/eventually.js';
import { Load, lostAndUnasked } from './load.js';
import { ProcessCluster, type WorkerProcess } from './process-cluster.js';

/** Milliseconds until an actor of that worker was answered by another. */
async function replacedAfterMs(cluster: ProcessCluster, worker: WorkerProcess, key: string): Promise<number> {
  const startedMs = performance.now();
  const answered = async (): Promise<boolean> => {
    const { process } = await cluster
      .counter(key)
      .where({}, { deadlineMs: 20_000 })
      .catch(() => ({ process: worker.process }));
    return process !== worker.process;
  };
  await eventually(answered, { timeoutMs: 30_000, what: `${key} is answered by another process` });
  return performance.now() - startedMs;
}

async function killed(t: ExecutionContext, seesExits: boolean): Promise<void> {
  const cluster = await ProcessCluster.start(t, { workers: 3, seesExits });
  const [, , victim] = cluster.workers;
  if (victim === undefined) throw new Error('three workers');
  const [mine = ''] = cluster.keysOf(victim, 1);
  await cluster.counter(mine).where({}, { deadlineMs: 10_000 });
  const keys = cluster.workers.flatMap((worker) => cluster.keysOf(worker, 5));
  const load = new Load(t, cluster, keys, 20_000);
  await eventually(() => load.done > 50, { timeoutMs: 20_000, what: 'some additions' });
  victim.signal('SIGKILL');
  const tookMs = await replacedAfterMs(cluster, victim, mine);
  const rest = cluster.workers.filter((worker) => worker !== victim);
  await cluster.agreed(rest);
  const outcome = await load.stop();
  const { lost, unasked } = await lostAndUnasked(cluster, outcome);
  t.log(
    `${seesExits ? 'exit seen' : 'refused'}: replaced after ${Math.round(tookMs)} ms; ` +
      `${outcome.failed.length} failed of ${load.done}, slowest ${Math.round(outcome.slowestMs)} ms; lost ${lost}`,
  );
  t.is(lost, 0);
  t.is(unasked, 0);
  t.deepEqual(outcome.failed, []);
  t.true(tookMs <= 2_000 + noiseMs, `${tookMs} ms`);
}

/** What a machine shared with other work may add; the measured figure is printed. */
const noiseMs = 3_000;

test.serial('a killed process is replaced soon, when peers are refused', (t) => killed(t, false));
test.serial('a killed process is replaced sooner, when a peer on its host sees the exit', (t) =>
  killed(t, true),
);

test.serial('a frozen process is replaced, and ends itself when it goes on', async (t) => {
  const cluster = await ProcessCluster.start(t, { workers: 3 });
  const [, , victim] = cluster.workers;
  if (victim === undefined) throw new Error('three workers');
  const [mine = ''] = cluster.keysOf(victim, 1);
  await cluster.counter(mine).where({}, { deadlineMs: 10_000 });
  const keys = cluster.workers.flatMap((worker) => cluster.keysOf(worker, 5));
  const load = new Load(t, cluster, keys, 25_000);
  await eventually(() => load.done > 50, { timeoutMs: 20_000, what: 'some additions' });
  victim.signal('SIGSTOP');
  const tookMs = await replacedAfterMs(cluster, victim, mine);
  await cluster.agreed(cluster.workers.filter((worker) => worker !== victim));
  victim.signal('SIGCONT');
  t.is(await victim.exited, 3, 'it found its lease lost');
  const outcome = await load.stop();
  const { lost, unasked } = await lostAndUnasked(cluster, outcome);
  t.log(
    `replaced after ${Math.round(tookMs)} ms; ${outcome.failed.length} failed of ${load.done}, ` +
      `slowest ${Math.round(outcome.slowestMs)} ms; lost ${lost}`,
  );
  t.is(lost, 0);
  t.is(unasked, 0);
  t.deepEqual(outcome.failed, []);
  t.true(tookMs <= 8_000 + noiseMs, `${tookMs} ms`);
});

test.serial('a process that was stopped for a second keeps its place', async (t) => {
  const cluster = await ProcessCluster.start(t, { workers: 2 });
  const [, victim] = cluster.workers;
  if (victim === undefined) throw new Error('two workers');
  const [mine = ''] = cluster.keysOf(victim, 1);
  const before = victim.viewNumber;
  victim.signal('SIGSTOP');
  const answer = cluster.counter(mine).where({}, { deadlineMs: 20_000 });
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  victim.signal('SIGCONT');
  t.is((await answer).process, victim.process);
  t.is(victim.viewNumber, before);
  t.false(victim.hasEnded);
});
