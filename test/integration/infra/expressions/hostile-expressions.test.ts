// Expressions crafted to end or block a node: each ends only itself, and the next one is served.
import test from 'ava';
import { createExpressions, ExpressionError } from '../../../../src/infra/expressions/index.js';
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

for (const [title, expression] of Object.entries(attacks)) {
  test.serial(`${title} ends only itself`, async (t) => {
    const expressions = createExpressions(startSandbox(t), { timeoutMs: 5_000 });
    const error = await t.throwsAsync(expressions.evaluate(oneTenant, expression, document), {
      instanceOf: ExpressionError,
    });
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

test.serial('sixty slow evaluations of one tenant delay another no longer than a few of them', async (t) => {
  const sandbox = startSandbox(t);
  const [expressions, quick] = [createExpressions(sandbox), createExpressions(sandbox, patient)];
  const slow = `@${'|[@,@][]'.repeat(100)}`;
  // Both processes run before the count starts: starting one takes long on a busy machine.
  await Promise.all([oneTenant, otherTenant].map((scope) => quick.evaluate(scope, 'length(@)', [1])));
  let ended = 0;
  const noisy = Array.from({ length: 60 }, () =>
    t.throwsAsync(expressions.evaluate(oneTenant, slow, [1])).then(() => (ended += 1)),
  );
  t.is(await quick.evaluate(otherTenant, 'length(@)', [1]), 1);
  t.true(ended <= 5, `${ended} of 60 were over`);
  await Promise.all(noisy);
});
