import test, { type ExecutionContext } from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { Load, lostAndUnasked } from './load.js';
import { ProcessCluster, type WorkerProcess } from './process-cluster.js';
import { servedTime } from '../support/clocks/served-time.js';

/**
 * Seconds of SIGSTOP: one that removes no process, one of about a lease, and one far beyond the lease.
 * `TROUPE_TEST_STOPS=1,2,3,4,5,6,8,12,20,30` runs more of them, which takes minutes.
 */
const stops = (process.env['TROUPE_TEST_STOPS'] ?? '1,4,20').split(',').map(Number);
/** A stop of at most this length removes no process, whenever its last renewal was. */
const harmlessS = 1;
/** The promise: lease, margin and view have ended by then, whatever the time of the last renewal. */
const replacedS = 8;
/**
 * The asserted bound is the promise plus this: on a shared machine the processes of this test, the store and Redis each
 * wait for a core now and then. The measured time is printed beside the promise.
 */
const noiseMs = 3_000;
const fencedExitCode = 3;

/** Stops the process for so long, or until another answers for its actor; milliseconds, as far as this test was served, until its actor was answered. */
async function stopFor(t: ExecutionContext, cluster: ProcessCluster, victim: WorkerProcess, seconds: number) {
  const [mine = ''] = cluster.keysOf(victim, 1);
  await cluster.counter(mine).where({}, { deadlineMs: 10_000 });
  const startedMs = performance.now();
  const servedMs = servedTime(t);
  victim.signal('SIGSTOP');
  let isReplaced = false;
  const going = eventually(() => isReplaced || performance.now() - startedMs >= seconds * 1_000, {
    timeoutMs: seconds * 1_000 + 10_000,
    what: 'the end of the stop',
  }).then(() => victim.signal('SIGCONT'));
  const { process } = await cluster.counter(mine).where({}, { deadlineMs: 60_000 });
  const answeredMs = servedMs();
  isReplaced = process !== victim.process;
  await going;
  return { answeredMs, isReplaced };
}

async function stopped(t: ExecutionContext, cluster: ProcessCluster, seconds: number): Promise<void> {
  const living = cluster.workers.filter((worker) => !worker.hasEnded);
  const victim = living.at(-1);
  if (victim === undefined) throw new Error('a worker');
  const { answeredMs, isReplaced } = await stopFor(t, cluster, victim, seconds);
  const rest = living.filter((worker) => worker !== victim);
  const isMember = (): boolean => rest.every((worker) => worker.members.includes(victim.process));
  // It is either fenced and ends, or renews and stays, within a lease after it continues. One that the others
  // removed ends, however long it waits for a core.
  if (seconds > harmlessS) {
    const startedMs = performance.now();
    await eventually(() => victim.hasEnded || (isMember() && performance.now() - startedMs > 3_000), {
      timeoutMs: 20_000,
      what: 'its end, or a while without it',
    });
  }
  const fate = victim.hasEnded ? 'it ended itself' : 'it kept its place';
  t.log(
    `stopped for ${seconds} s: answered after ${Math.round(answeredMs)} ms ` +
      `${isReplaced ? `by another (promised ${replacedS * 1_000} ms)` : 'by itself'}; ${fate}`,
  );
  if (seconds <= harmlessS) t.false(victim.hasEnded || isReplaced, 'a stop of one second costs nothing');
  if (victim.hasEnded) t.is(await victim.exited, fencedExitCode, 'it found its lease lost');
  else t.true(isMember());
  if (seconds > replacedS) {
    t.true(isReplaced && victim.hasEnded);
    t.true(answeredMs <= replacedS * 1_000 + noiseMs, `${answeredMs} ms`);
  }
  if (victim.hasEnded) await cluster.agreed([...rest, await cluster.startWorker()]);
}

test.serial('a stopped process loses nothing, and is replaced if it does not return', async (t) => {
  t.timeout(120_000 + stops.reduce((sum, seconds) => sum + seconds + 30, 0) * 1_000);
  const cluster = await ProcessCluster.start(t, { workers: 3 });
  const keys = cluster.workers.flatMap((worker) => cluster.keysOf(worker, 5));
  const load = new Load(t, cluster, keys, 60_000);
  await eventually(() => load.done > 50, { timeoutMs: 20_000, what: 'some additions' });
  for (const seconds of stops) await stopped(t, cluster, seconds);
  const outcome = await load.stop();
  const { lost, unasked } = await lostAndUnasked(cluster, outcome);
  t.log(
    `${outcome.failed.length} failed of ${load.done}, slowest ${Math.round(outcome.slowestMs)} ms; lost ${lost}`,
  );
  t.is(lost, 0);
  t.is(unasked, 0);
  t.deepEqual(outcome.failed, []);
});
