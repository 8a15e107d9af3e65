// The quota actor itself, on simulated nodes that die, freeze, are cut off and lose their store: nobody is let in beyond
// a cap, what is used is what the rows say, and nothing stays reserved.
import test from 'ava';
import type { QuotaPlant } from './quota-guest.js';
import { runQuotas } from './quota-many.js';
import { runQuota } from './quota-run.js';

/** `scripts/simulate.mjs --of quota` runs as many as one likes. */
const seeds = 200;

test('quotas hold their promises on every drawn schedule', async (t) => {
  t.timeout(600_000);
  const { failures, ...summary } = await runQuotas({ from: 1, count: seeds }, 2);
  t.deepEqual(
    failures.map(({ seed, faults, violations }) => ({ seed, faults, violations })),
    [],
  );
  t.is(summary.seeds, seeds);
  t.true(summary.begun > seeds * 40, `only ${summary.begun} works began`);
  t.true(summary.refused > seeds * 5, `only ${summary.refused} were refused`);
  t.true(summary.reserved > seeds * 40, `only ${summary.reserved} attempts were reserved`);
});

test('owners that stop in order while answers are slow to arrive leave every count exact', async (t) => {
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

/** A checker that never finds anything proves nothing. */
const plants: readonly (readonly [QuotaPlant, RegExp])[] = [
  ['grant_before_commit', /began, and the .* says|were admitted of/],
  ['settled_twice', /used is .*, the rows say/],
  ['reserved_for_ever', /something is reserved for ever/],
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
