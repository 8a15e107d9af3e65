import test from 'ava';
import { runMembers } from './member-run.js';

/** `scripts/simulate.mjs --of members` runs many more. */
const seeds = 150;

test('membership alone keeps its rules on every drawn schedule', async (t) => {
  t.timeout(300_000);
  let views = 0;
  let confirmed = 0;
  for (let seed = 1; seed <= seeds; seed += 1) {
    const verdict = await runMembers({ seed });
    t.deepEqual(verdict.violations, [], `seed ${seed}: ${JSON.stringify(verdict.faults)}`);
    views += verdict.views;
    confirmed += verdict.confirmed;
  }
  t.true(views > seeds, `only ${views} views were made`);
  t.true(confirmed > seeds * 10, `processes went on without the store in only ${confirmed} looks`);
});

test('a process that seizes a number as it joins does not act beside workers that confirm each other', async (t) => {
  const { violations } = await runMembers({
    seed: 109,
    faults: [
      { atMs: 281, kind: 'flush' },
      { atMs: 2_423, kind: 'store_away', backAfterMs: { 0: 13_601, 1: 14_122, 2: 15_802 } },
      { atMs: 5_188, kind: 'join' },
    ],
  });
  t.deepEqual(violations, []);
});
