// Expressions crafted to end or block a node: each ends only itself, and the next one is served.
import { readFileSync } from 'node:fs';
import test from 'ava';
import { createExpressions, ExpressionError } from '../../../../src/infra/expressions/index.js';
import type { Sandbox } from '../../../../src/infra/sandbox/index.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';
import { oneTenant, otherTenant, startSandbox } from '../../../support/servers/sandbox.js';

/** On a busy machine a child process may get no core for longer than the default. */
const patient = { timeoutMs: 60_000 };

const document = { text: 'a'.repeat(100_000), list: Array.from({ length: 1_000 }, (_, index) => `${index}`) };

const attacks = {
  'a text padded to 400 MB': "pad_left('a', `400000000`)",
  'the same on the other side': "pad_right('a', `400000000`)",
  'the same in capitals': "upper(pad_left('a', `400000000`))",
  'the same turned around': "reverse(pad_left('a', `400000000`))",
  'a padding for each item': 'list[*].pad_left(@, `9999999`)',
  'a long text between many': "join(join('', [@.text, @.text, @.text]), map(&to_string(@), @.list))",
  'a long text in many places': "replace(@.text, 'a', @.text)",
  'a replacement that is replaced': "replace('a', 'a', @.text, `100000000`)",
  'a long text that is turned around, and around': `[@.text,@.text][]${'|[@,@][]'.repeat(30)}|map(&reverse(@), @)`,
  'a list that doubles itself': `@${'|[@,@][]'.repeat(100)}`,
  'a result that is endless as text': `@${'|[@,@]'.repeat(100)}`,
  'texts of texts': `to_string(@)${'|to_string([@,@])'.repeat(40)}`,
  'nested without end': `@${'|[@]'.repeat(240)}`,
} as const;

/** The processor time of a process so far; 0 once it has exited. */
function usedMs(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
    return 10 * (Number(fields[11]) + Number(fields[12]));
  } catch {
    return 0;
  }
}

/**
 * Moves the clock ten times as fast as the children compute, until the work is over: each gets the same processor time
 * on any machine.
 */
async function computing<Result>(time: ManualTime, sandbox: Sandbox, work: Promise<Result>): Promise<Result> {
  let isOver = false;
  void work.finally(() => (isOver = true));
  let atMs = 0;
  await eventually(
    async () => {
      const untilMs = 10 * sandbox.pids.reduce((sum, pid) => sum + usedMs(pid), 0);
      for (; atMs < untilMs; atMs += 25) {
        if (isOver) return true;
        time.advance(25);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return isOver;
    },
    { timeoutMs: 110_000, everyMs: 5, what: 'the end of the evaluation' },
  );
  return work;
}

for (const [title, expression] of Object.entries(attacks)) {
  test.serial(`${title} ends only itself`, async (t) => {
    const time = new ManualTime('2026-11-30T12:00:00Z');
    const sandbox = startSandbox(t, { time });
    const expressions = createExpressions(sandbox, { timeoutMs: 5_000 });
    const evaluated = t.throwsAsync(expressions.evaluate(oneTenant, expression, document), {
      instanceOf: ExpressionError,
    });
    const error = await computing(time, sandbox, evaluated);
    t.true(error instanceof ExpressionError && error.failure !== 'invalid', error?.message);
    t.is(await expressions.evaluate(otherTenant, 'length(list)', document), 1_000);
  });
}

test.serial('a document that is nested too deeply is refused, by a path and by an evaluation', async (t) => {
  const expressions = createExpressions(startSandbox(t), patient);
  const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
  t.is(await expressions.evaluate(oneTenant, 'length(@)', nested(200)), 1);
  for (const levels of [1_000, 100_000]) {
    for (const expression of ['length(@)', '@']) {
      if (expression === '@' && levels === 1_000) continue;
      const error = await t.throwsAsync(expressions.evaluate(oneTenant, expression, nested(levels)), {
        instanceOf: ExpressionError,
      });
      t.true(error instanceof ExpressionError && error.failure === 'too-large');
    }
  }
});

test.serial('a tenant is served while sixty slow evaluations of another wait for their end', async (t) => {
  // It stands still: one of the sixty ends only if its process has no memory left.
  const time = new ManualTime('2026-11-30T12:00:00Z');
  const sandbox = startSandbox(t, { time });
  const expressions = createExpressions(sandbox);
  const slow = `@${'|[@,@][]'.repeat(100)}`;
  let ended = 0;
  const noisy = Array.from({ length: 60 }, () =>
    t.throwsAsync(expressions.evaluate(oneTenant, slow, [1])).then(() => (ended += 1)),
  );
  let length: unknown;
  void expressions.evaluate(otherTenant, 'length(@)', [1]).then((value) => (length = value));
  await eventually(() => length !== undefined, { timeoutMs: 100_000, what: 'the evaluation of the other' });
  t.is(length, 1);
  t.true(ended <= 5, `${ended} of 60 were over`);
  await sandbox.close();
  await Promise.all(noisy);
});
