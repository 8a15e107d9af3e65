import test from 'ava';
import { clusterConfig } from '../../../cluster/config.js';
import { drain } from '../../../cluster/drain/drain.js';
import { VirtualTime } from '../../../cluster/simulation/virtual-time.js';
import { sleep } from '../../../cluster/time/time.js';

/** A node with one actor whose turn lasts so long; what its drain does, in order. */
async function drained(turnMs: number, effectsMs = 0, failure?: Error) {
  const time = new VirtualTime();
  const log: string[] = [];
  const config = clusterConfig({ drainMs: 5_000 });
  const done = drain({
    config,
    time,
    membership: {
      async beginLeave() {
        log.push('begin to leave');
      },
      async leave() {
        log.push(`left at ${Math.round(time.monotonicMs() / 1_000)} s`);
      },
    },
    table: {
      get busy() {
        return time.monotonicMs() < turnMs ? 1 : 0;
      },
      moveOut: (reason) => {
        if (log.at(-1) !== `moved out: ${reason}`) log.push(`moved out: ${reason}`);
      },
      endAll: () => log.push('actors ended'),
    },
    async beforeLeave() {
      await sleep(time, effectsMs);
      log.push('effects ended');
      if (failure !== undefined) throw failure;
    },
  });
  await time.advance(20_000);
  return { log, ...(await done) };
}

test('a drain waits for running turns and says that the process left after actors and effects have ended', async (t) => {
  const { log, cutOff } = await drained(2_000, 1_000);
  t.deepEqual(log, ['begin to leave', 'moved out: drain', 'actors ended', 'effects ended', 'left at 3 s']);
  t.is(cutOff, 0);
});

test('a drain cuts off turns that do not end in time, before it says that the process left', async (t) => {
  const { log, cutOff } = await drained(60_000);
  t.deepEqual(log.slice(-3), ['actors ended', 'effects ended', 'left at 5 s']);
  t.is(cutOff, 1);
});

test('effects that fail to end keep no lease, and the failure is returned', async (t) => {
  const error = new Error('the outbox is not empty');
  const { log, failure } = await drained(0, 1_000, error);
  t.is(log.at(-1), 'left at 1 s');
  t.is(failure, error);
});
