import test from 'ava';
import { runMany, show } from './many.js';
import { regressions } from './regressions.js';
import { run } from './run.js';

/** `scripts/simulate.mjs` runs many more; these run with every test run. */
const seeds = 120;

test('every guarantee holds on every drawn schedule', async (t) => {
  t.timeout(300_000);
  const summary = await runMany({ from: 1, count: seeds }, 2);
  t.deepEqual(summary.failures.map(show), []);
  t.is(summary.seeds, seeds);
  t.true(summary.answered > seeds * 50, `only ${summary.answered} calls were answered`);
  t.true(summary.streams > seeds * 3, `only ${summary.streams} streams were read`);
  t.true(summary.finished > seeds * 2, `only ${summary.finished} rows of work were finished`);
  t.true(summary.fired > seeds * 2, `only ${summary.fired} timers fired`);
  t.true(summary.effects > seeds * 20, `only ${summary.effects} effects happened`);
});

for (const { seed, faults, cause } of regressions) {
  test(`seed ${seed} stays fixed: ${cause}`, async (t) => {
    const verdict = await run(faults === undefined ? { seed } : { seed, faults });
    t.deepEqual(verdict.violations, []);
  });
}
