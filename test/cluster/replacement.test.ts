import test, { type ExecutionContext } from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { Load, lostAndUnasked } from './load.js';
import { ProcessCluster, type WorkerProcess } from './process-cluster.js';
import { keepsPromise } from '../support/clocks/promised-time.js';
import { servedTime } from '../support/clocks/served-time.js';

/** Milliseconds until an actor of that worker was answered by another, as far as the machine served this test. */
async function replacedAfterMs(
  t: ExecutionContext,
  cluster: ProcessCluster,
  worker: WorkerProcess,
  key: string,
): Promise<number> {
  const servedMs = servedTime(t);
  const answered = async (): Promise<boolean> => {
    const { process } = await cluster
      .counter(key)
      .where({}, { deadlineMs: 20_000 })
      .catch(() => ({ process: worker.process }));
    return process !== worker.process;
  };
  await eventually(answered, { timeoutMs: 30_000, what: `${key} is answered by another process` });
  return servedMs();
}

const rounds = 3;
const promisedMs = 2_000;

/** One process after the other is killed under load; a fresh one takes its place before the next. */
async function killed(t: ExecutionContext, seesExits: boolean): Promise<void> {
  t.timeout(300_000);
  const cluster = await ProcessCluster.start(t, { workers: 3, seesExits });
  const keys = cluster.workers.flatMap((worker) => cluster.keysOf(worker, 5));
  const load = new Load(t, cluster, keys, 20_000);
  await eventually(() => load.done > 50, { timeoutMs: 20_000, what: 'some additions' });
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const victim = cluster.workers[round];
    if (victim === undefined) throw new Error('a worker for each round');
    const [mine = ''] = cluster.keysOf(victim, 1);
    await cluster.counter(mine).where({}, { deadlineMs: 10_000 });
    const killedAtMs = performance.now();
    victim.signal('SIGKILL');
    const tookMs = await replacedAfterMs(t, cluster, victim, mine);
    times.push(tookMs);
    const rest = cluster.workers.slice(round + 1);
    await cluster.agreed(rest);
    t.log(
      `${seesExits ? 'exit seen' : 'refused'}: replaced after ${Math.round(tookMs)} ms, promised ${promisedMs} ` +
        `(lease taken ${since(killedAtMs, rest, 'removed')} ms, view ${since(killedAtMs, rest, 'view')} ms)`,
    );
    if (round + 1 < rounds) await cluster.agreed([...rest, await cluster.startWorker()]);
  }
  const outcome = await load.stop();
  const { lost, unasked } = await lostAndUnasked(cluster, outcome);
  t.log(
    `${outcome.failed.length} failed of ${load.done}, slowest ${Math.round(outcome.slowestMs)} ms; lost ${lost}`,
  );
  t.is(lost, 0);
  t.is(unasked, 0);
  t.deepEqual(outcome.failed, []);
  keepsPromise(t, times, promisedMs);
}

/** Until the first of them reports it. */
function since(startMs: number, workers: readonly WorkerProcess[], event: string): number {
  const heard = workers.map((worker) => worker.heardAtMs.get(event) ?? 0).filter((atMs) => atMs > startMs);
  return heard.length === 0 ? Number.NaN : Math.round(Math.min(...heard) - startMs);
}

test.serial('a killed process is replaced quickly if its peers are refused', (t) => killed(t, false));
test.serial('a killed process is replaced faster if a peer on its host sees the exit', (t) =>
  killed(t, true),
);
