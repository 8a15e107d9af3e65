import test from 'ava';
import * as cluster from '../../cluster/index.js';

test('the cluster face can be imported', (t) => {
  t.truthy(cluster);
});

interface Summary {
  readonly passed: number;
  readonly failed: number;
  readonly text: string;
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
  const { passed, failed, text } = await summaryOf(output);
  t.deepEqual([passed, failed], [2, 2]);
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
