import { setImmediate as endOfTurn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import {
  createExpressions,
  ExpressionError,
  type Expressions,
  type ExpressionsOptions,
  faultOfExpression,
} from '../../../../src/infra/expressions/index.js';
import { oneTenant, startSandbox } from '../../../support/servers/sandbox.js';

/** More than a path, so it goes to a child process. */
const first = '[0] | @';

const document = {
  items: [
    { name: 'a', price: 3 },
    { name: 'b', price: 5 },
  ],
};

/** On a busy machine a child process may get no core for longer than the default. */
const patient: ExpressionsOptions = { timeoutMs: 60_000 };

function expressionsOf(t: ExecutionContext, options = patient): Expressions {
  return createExpressions(startSandbox(t), options);
}

test('an expression selects from a document', async (t) => {
  const expressions = expressionsOf(t);
  t.deepEqual(await expressions.evaluate(oneTenant, 'items[?price > `4`].name', document), ['b']);
  t.is(await expressions.evaluate(oneTenant, 'items[0].name', document), 'a');
  t.is(await expressions.evaluate(oneTenant, 'nothing.at.all', document), null);
  t.is(await expressions.evaluate(oneTenant, '@', 'plain'), 'plain');
  t.is(await expressions.evaluate(oneTenant, '@', undefined), null);
});

test('a text that is not an expression is recognised', (t) => {
  t.is(faultOfExpression('a.b[*].c'), undefined);
  for (const text of ['', 'a[', 'a..b', '@@', 'x'.repeat(1_001)])
    t.not(faultOfExpression(text), undefined, text);
});

test('an expression that does not fit its document fails, and the next one is evaluated', async (t) => {
  const expressions = expressionsOf(t);
  await t.throwsAsync(expressions.evaluate(oneTenant, 'sum(items)', document), {
    instanceOf: ExpressionError,
    message: /cannot be applied/,
  });
  t.deepEqual(await expressions.evaluate(oneTenant, 'items[*].price', document), [3, 5]);
});

test('growing expressions are stopped by time, by memory or by the size of their result', async (t) => {
  const expressions = expressionsOf(t, { timeoutMs: 1_500, resultCharsMax: 1_000 });
  const failures: unknown[] = [];
  for (const expression of [
    `@${'|[@,@][]'.repeat(120)}`,
    `@${'|[@,@]'.repeat(150)}`,
    "pad_left('x', `1000000000`)",
    `@${'|[@,@][]'.repeat(12)}`,
  ]) {
    const error = await t.throwsAsync<ExpressionError>(expressions.evaluate(oneTenant, expression, [1]), {
      instanceOf: ExpressionError,
    });
    failures.push(error?.failure);
    t.is(await expressions.evaluate(oneTenant, first, [1]), 1, 'the next one is served');
  }
  t.true(failures.every((failure) => failure === 'timeout' || failure === 'too-large'));
  t.is(failures.at(-1), 'too-large', 'a result of 4,096 items');
});

test.serial('a result that arrived while the loop was blocked counts before the time-out', async (t) => {
  const sandbox = startSandbox(t);
  const expressions = createExpressions(sandbox, { timeoutMs: 500 });
  t.is(await createExpressions(sandbox, patient).evaluate(oneTenant, first, [1]), 1, 'the process stands');
  // At the end of a turn of the loop: the next one begins with its timers.
  await endOfTurn();
  const outcome = expressions.evaluate(oneTenant, first, [2]);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
  t.is(await outcome, 2);
});

test("an expression that takes too long blocks nobody's event loop", async (t) => {
  const expressions = expressionsOf(t, { timeoutMs: 2_000 });
  const large = Array.from({ length: 3_000 }, (_, index) => index);
  const slow = expressions.evaluate(oneTenant, 'map(&map(&to_string(@), $), @)|length(@)', large);
  let ticks = 0;
  const timer = setInterval(() => (ticks += 1), 5);
  await t.throwsAsync(slow, { instanceOf: ExpressionError });
  clearInterval(timer);
  t.true(ticks > 20, `${ticks} ticks`);
});

test('each of many concurrent evaluations gets its result, those beyond the limit are refused, and closing ends them', async (t) => {
  const sandbox = startSandbox(t);
  const expressions = createExpressions(sandbox, patient);
  const results = await Promise.all(
    Array.from({ length: 200 }, (_, index) => expressions.evaluate(oneTenant, first, [index])),
  );
  t.deepEqual(
    results,
    Array.from({ length: 200 }, (_, index) => index),
  );
  const many = await Promise.allSettled(
    Array.from({ length: 400 }, (_, index) => expressions.evaluate(oneTenant, first, [index])),
  );
  const refused = many.filter(({ status }) => status === 'rejected').length;
  t.true(refused >= 100 && refused < 200, `${refused} were refused`);
  const last = expressions.evaluate(oneTenant, first, [1]);
  await sandbox.close();
  await t.throwsAsync(last, { message: /stopping/ });
  await t.throwsAsync(expressions.evaluate(oneTenant, first, [1]));
});
