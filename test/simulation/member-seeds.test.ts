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

test('membership keeps its rules where each process watches few others', async (t) => {
  t.timeout(120_000);
  for (let seed = 1; seed <= 40; seed += 1) {
    const { violations, faults } = await runMembers({ seed, config: { neighboursMax: 1 + (seed % 2) } });
    t.deepEqual(violations, [], `seed ${seed}: ${JSON.stringify(faults)}`);
  }
});

test('a process that a view named before it knew joins later only under another id', async (t) => {
  const { violations } = await runMembers({
    seed: 2419,
    faults: [
      { atMs: 4_378, kind: 'store_away', backAfterMs: { 1: 3_894 } },
      { atMs: 5_827, kind: 'freeze', node: 2, forMs: 13_372 },
      { atMs: 6_984, kind: 'rejected', nodes: [1], forMs: 3_894 },
      { atMs: 12_028, kind: 'join' },
      { atMs: 12_060, kind: 'split', nodes: [0, 2], forMs: 13_446 },
    ],
  });
  t.deepEqual(violations, []);
});

test('no view excludes a process that another confirmed while its renewal, which called it free, was in flight', async (t) => {
  const { violations } = await runMembers({
    seed: 3950,
    faults: [
      { atMs: 1_208, kind: 'steps_late', node: 3, forMs: 9_264, lateMs: 1_837 },
      { atMs: 1_384, kind: 'store_away', backAfterMs: { 0: 699, 1: 699, 2: 699, 3: 699 } },
      { atMs: 3_245, kind: 'rejected', nodes: [1, 2], forMs: 699 },
    ],
  });
  t.deepEqual(violations, []);
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
