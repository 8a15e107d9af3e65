// When claims of lost processes are searched, with the test's clock; what a search does to rows is tested on PostgreSQL.
import { setImmediate as nextRound } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { VoidClaims, type VoidClaimsParts } from '../../../../src/infra/claims/void-claims.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

function watching(t: ExecutionContext) {
  const time = new ManualTime('2026-11-23T10:00:00Z');
  const world = { members: ['a', 'b'], gone: new Set<string>(), holders: [] as string[] };
  const seen = { released: [] as string[], sweeps: 0 };
  // The table below reads no transaction.
  const store = {
    directory: (work: (tx: never) => Promise<unknown>) => work(undefined as never),
  } as VoidClaimsParts['store'];
  const claims = new VoidClaims({
    store,
    holders: { members: () => world.members, isGone: (process) => world.gone.has(process) },
    time,
    report: (attempted, error) => t.fail(`${attempted}: ${String(error)}`),
  });
  claims.add({
    table: {
      holders: async () => world.holders,
      release: async (_, gone) => {
        seen.released.push(gone.join(' '));
        return 0;
      },
    },
    sweepNow: () => (seen.sweeps += 1),
  });
  claims.start();
  t.teardown(() => claims.stop());
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 200) {
      time.advance(200);
      await nextRound();
    }
  };
  return { world, seen, pass };
}

test('claims of a process that is gone are searched at once, and again while its last statements may commit', async (t) => {
  const { world, seen, pass } = watching(t);
  await pass(5_000);
  t.deepEqual(seen, { released: [], sweeps: 0 });
  world.gone.add('b');
  await pass(200);
  t.deepEqual(seen, { released: ['b'], sweeps: 1 }, 'work is looked for even if no claim was found');
  world.members = ['a'];
  await pass(11_000);
  const { sweeps } = seen;
  t.true(sweeps >= 10, `${sweeps} searches in 11 s`);
  t.deepEqual([...new Set(seen.released)], ['b']);
  await pass(5_000);
  const after = seen.sweeps;
  await pass(60_000);
  t.is(seen.sweeps, after, 'nothing of it can commit any more');
});

test('claims of a process that was never a member here are found by the periodic search', async (t) => {
  const { world, seen, pass } = watching(t);
  await pass(1_000);
  world.holders = ['unknown', 'alive'];
  world.gone.add('unknown');
  await pass(16_000);
  t.deepEqual([...new Set(seen.released)], ['unknown']);
  t.true(seen.sweeps > 0);
});
