// The real quota actor on simulated nodes that die, freeze, are cut off and lose their store: no call is admitted
// beyond a cap, usage equals the rows, and no reservation stays.
import test from 'ava';
import type { QuotaPlant } from './quota-guest.js';
import { runQuotas } from './quota-many.js';
import { runQuota } from './quota-run.js';

/** Use `scripts/simulate.mjs --of quota` for more. */
const seeds = 200;

test('quotas keep their guarantees on every drawn schedule', async (t) => {
  t.timeout(600_000);
  const { failures, ...summary } = await runQuotas({ from: 1, count: seeds }, 2);
  t.deepEqual(
    failures.map(({ seed, faults, violations }) => ({ seed, faults, violations })),
    [],
  );
  t.is(summary.seeds, seeds);
  t.true(summary.begun > seeds * 40, `only ${summary.begun} calls began`);
  t.true(summary.refused > seeds * 5, `only ${summary.refused} were refused`);
  t.true(summary.reserved > seeds * 40, `only ${summary.reserved} attempts were reserved`);
});

test('every count stays exact when owners stop in order while answers arrive slowly', async (t) => {
  t.timeout(300_000);
  for (let seed = 1; seed <= 12; seed += 1) {
    const faults = [
      { atMs: 1_500 + seed * 50, kind: 'drain', node: seed % 3 } as const,
      { atMs: 2_500, kind: 'slow_network', forMs: 6_000 } as const,
      { atMs: 6_000 + seed * 60, kind: 'drain', node: (seed + 1) % 3 } as const,
    ];
    const { violations } = await runQuota({ seed, faults, nodes: 3, isPatient: true });
    t.deepEqual(violations, [], `seed ${seed}`);
  }
});

/** A checker that finds nothing proves nothing. */
const plants: readonly (readonly [QuotaPlant, RegExp])[] = [
  ['grant_before_commit', /began, but the count of|were admitted of/],
  ['settled_twice', /used is .*, the rows sum to/],
  ['reserved_for_ever', /a reservation is never released/],
];

for (const [plant, found] of plants) {
  test(`the planted bug ${plant} of a quota is found`, async (t) => {
    t.timeout(300_000);
    const violations: string[] = [];
    for (let seed = 1; seed <= 24 && !violations.some((text) => found.test(text)); seed += 1) {
      const faults = [
        { atMs: 2_000, kind: 'unknown_commits', forMs: 6_000 } as const,
        { atMs: 5_000 + seed * 100, kind: 'kill', node: seed % 3 } as const,
      ];
      const run = { seed, faults, nodes: 3, plants: [plant], isPatient: true };
      violations.push(...(await runQuota(run)).violations);
    }
    t.true(
      violations.some((text) => found.test(text)),
      violations.join('\n'),
    );
  });
}
