import test from 'ava';
import * as cluster from '../../cluster/index.js';

test('the cluster face can be imported', (t) => {
  t.truthy(cluster);
});

interface Summary {
  readonly passed: number;
  readonly failed: number;
  readonly text: string;
  readonly failures: readonly Failure[];
  take(line: string): void;
}

async function summaryOf(output: string): Promise<Summary> {
  const script = new URL('../../../scripts/test-summary.mjs', import.meta.url).href;
  const { TestSummary } = (await import(script)) as { TestSummary: new () => Summary };
  const summary = new TestSummary();
  for (const line of output.split('\n')) summary.take(line);
  return summary;
}

const output = `
  ✔ unit › a › is fine (201ms)
  \u001b[31m✘ [fail]:\u001b[39m unit › a › adds up
    ℹ a note
  ✔ unit › a › says nothing
    ℹ of a test that passed

  Unhandled rejection in unit/b.test.js

  Error: nobody heard

  ✘ unit/b.test.js exited with a non-zero exit code: 1
  ─

  unit › a › adds up

  Difference (- actual, + expected):

  - 2
  + 3

  Error
      at file:///project/dist/test/unit/a.test.js:4:35
      at file:///project/node_modules/ava/lib/runner.js:515:21

  ─

  1 test failed`;

test('the last lines of a failed run name the failed tests and the reasons', async (t) => {
  const { passed, failed, text, failures } = await summaryOf(output);
  t.deepEqual([passed, failed], [2, 2]);
  t.is(failures[0]?.title, 'unit › a › adds up');
  t.deepEqual(text.split('\n'), [
    '',
    '── failed',
    '✘ [fail]: unit › a › adds up',
    '    ℹ a note',
    '    Difference (- actual, + expected):',
    '    - 2',
    '    + 3',
    '    Error',
    '    at file:///project/dist/test/unit/a.test.js:4:35',
    'Unhandled rejection in unit/b.test.js',
    '    Error: nobody heard',
    '✘ unit/b.test.js exited with a non-zero exit code: 1',
    '',
  ]);
});

test('a run without failures reports only the count', async (t) => {
  const { passed, text } = await summaryOf('  ✔ unit › a › is fine\n    ℹ a note\n  ─\n\n  1 test passed');
  t.deepEqual([passed, text], [1, '']);
});

interface Failure {
  readonly text: string;
  readonly title?: string;
  readonly more: readonly string[];
}

interface FailureCounts {
  readonly failedRuns: number;
  readonly text: string;
  take(run: { number: number; failed: boolean; failures: readonly Failure[] }): void;
}

async function countsOf(files: readonly string[]): Promise<FailureCounts> {
  const script = new URL('../../../scripts/failure-counts.mjs', import.meta.url).href;
  const { FailureCounts } = (await import(script)) as {
    FailureCounts: new (files: readonly string[]) => FailureCounts;
  };
  return new FailureCounts(files);
}

test('failures of many runs are counted by file and title, the most frequent first', async (t) => {
  const counts = await countsOf(['dist/test/unit/a.test.js', 'dist/test/unit/a/b.test.js']);
  const rare = { text: '✘ [fail]: a › b › adds › up', more: ['one', 'two', 'three', 'four'] };
  const often = { text: '✘ [fail]: a › says nothing', more: [] };
  const slower = { text: '✘ [fail]: a › says nothing in 20 ms', title: 'a › says nothing', more: [] };
  counts.take({ number: 1, failed: true, failures: [rare, often] });
  counts.take({ number: 2, failed: false, failures: [] });
  counts.take({ number: 3, failed: true, failures: [slower] });
  t.is(counts.failedRuns, 2);
  t.deepEqual(counts.text.split('\n'), [
    '2 of 3  dist/test/unit/a.test.js  says nothing  (runs 1, 3)',
    '1 of 3  dist/test/unit/a/b.test.js  adds › up  (runs 1)',
    '    one',
    '    two',
    '    three',
    '3 runs, 2 failed, 2 different failures',
    '',
  ]);
});

test('a run that fails without a failed test counts, and the list of failures is bounded', async (t) => {
  const counts = await countsOf(['dist/test/unit/a.test.js']);
  counts.take({ number: 1, failed: true, failures: [] });
  t.regex(counts.text, /^1 of 1 {2}dist\/test\/unit\/a\.test\.js {2}the run failed before any test did/);
  const many = Array.from({ length: 150 }, (_, place) => ({ text: `✘ [fail]: number ${place}`, more: [] }));
  counts.take({ number: 2, failed: true, failures: many });
  const lines = counts.text.split('\n');
  t.deepEqual(lines.slice(-3), ['and 51 more', '2 runs, 2 failed, 151 different failures', '']);
  t.is(lines.length, 103);
});

test('the slowest files of a run come first, with the time of all', async (t) => {
  const script = new URL('../../../scripts/slowest-tests.mjs', import.meta.url).href;
  const { slowestTests } = (await import(script)) as { slowestTests: (notes: string) => string };
  const notes = '{"file":"a.test.js","ms":900}\n{"file":"b.test.js","ms":12300}\n';
  t.deepEqual(slowestTests(notes).split('\n'), [
    '── the slowest of 2 files, which took 13.2 s one after another',
    '  12.3 s  b.test.js',
    '   0.9 s  a.test.js',
    '',
  ]);
});
