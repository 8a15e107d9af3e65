// Paths are followed in the process of the node: they must lead where the language's own package leads.
import { type JSONValue, search } from '@jmespath-community/jmespath';
import test from 'ava';
import fc from 'fast-check';
import { createExpressions, faultOfExpression } from '../../../../src/infra/expressions/index.js';
import { planOf } from '../../../../src/infra/expressions/plan.js';
import { oneTenant, startSandbox } from '../../../support/servers/sandbox.js';

const noSandbox = { run: () => Promise.reject(new Error('a path needs no child process')) };

test('a path is evaluated without a child process', async (t) => {
  const expressions = createExpressions(noSandbox);
  const message = { entry: [{ changes: [{ value: { text: { body: 'hi' } } }] }], 'odd name': [1, 2, 3] };
  for (const [path, value] of [
    ['entry[0].changes[0].value.text.body', 'hi'],
    ['"odd name"[-1]', 3],
    ['@', message],
    ['@.entry[0].changes[0].value', { text: { body: 'hi' } }],
    ['entry[1].changes', null],
    ['entry.changes', null],
    ['entry[0].constructor', null],
    ['__proto__', null],
  ] as const) {
    t.deepEqual(await expressions.evaluate(oneTenant, path, message), value, path);
  }
  await t.throwsAsync(expressions.evaluate(oneTenant, '@', 'x'.repeat(2 * 1024 * 1024)), {
    message: /too large/,
  });
});

test('for every document a path returns what the package returns', async (t) => {
  const expressions = createExpressions(noSandbox);
  const name = fc.constantFrom('a', 'b', 'c');
  const step = fc.oneof(
    name.map((one) => `.${one}`),
    fc.integer({ min: -3, max: 3 }).map((index) => `[${index}]`),
  );
  const path = fc.tuple(name, fc.array(step, { maxLength: 5 })).map(([first, rest]) => first + rest.join(''));
  const { document } = fc.letrec<{ document: JSONValue }>((tie) => ({
    document: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      fc.constantFrom<JSONValue>(null, true, false, 0, 1.5, '', 'text'),
      fc.array(tie('document'), { maxLength: 3 }),
      fc.dictionary(name, tie('document'), { maxKeys: 3 }),
    ),
  }));
  await fc.assert(
    fc.asyncProperty(path, document, async (expression, value) => {
      t.is(planOf(expression).kind, 'path', expression);
      const found = await expressions.evaluate(oneTenant, expression, value);
      return JSON.stringify(found) === JSON.stringify(search(value, expression));
    }),
    { numRuns: 2_000 },
  );
  t.pass();
});

test('ordinary expressions return in a child process what the package returns', async (t) => {
  // On a busy machine a child process may get no core for longer than the default.
  const expressions = createExpressions(startSandbox(t), { timeoutMs: 60_000 });
  const orders = {
    orders: [
      { id: 'o-1', total: 12.5, tags: ['new', 'gift'], customer: { name: 'Ada', city: null } },
      { id: 'o-2', total: 3, tags: [], customer: { name: 'Grace', city: 'Köln' } },
    ],
    note: ' see you ',
  };
  for (const expression of [
    'orders[*].id',
    'orders[?total > `5`].customer.name | [0]',
    "join(', ', orders[*].customer.name)",
    'sort_by(orders, &total)[0].id',
    '{ids: orders[].id, sum: sum(orders[].total)}',
    "pad_left(orders[0].id, `12`, '0')",
    "pad_right('a', `9000`)",
    "replace(note, 'e', 'ee')",
    "replace('aaa', 'a', 'b', `2`)",
    'trim(note)',
    'reverse(orders[0].tags)',
    'merge(orders[0], {total: `1`})',
    'group_by(orders, &id)',
    'let $first = orders[0] in $first.id',
    'orders[].tags[]',
    'orders[0].customer.city || `"unknown"`',
    'to_string(orders[1])',
    'length(note)',
    'nothing.at.all',
    'max_by(orders, &total).id',
    "zip(orders[].id, ['x', 'y'])",
    'orders[0:1:1]',
    "upper(note) == ' SEE YOU '",
  ]) {
    t.is(faultOfExpression(expression), undefined, expression);
    const expected = JSON.parse(JSON.stringify(search(orders, expression) ?? null)) as unknown;
    t.deepEqual(await expressions.evaluate(oneTenant, expression, orders), expected, expression);
  }
});

test('an expression that is nested too deeply is refused on saving', (t) => {
  t.is(faultOfExpression(`a${'.b'.repeat(100)}`), undefined);
  t.regex(faultOfExpression(`@${'|[@]'.repeat(200)}`) ?? '', /nested more than 128 levels deep/);
  t.is(
    faultOfExpression(`@ == \`${'['.repeat(200)}${']'.repeat(200)}\``),
    undefined,
    'a literal is no expression',
  );
});
