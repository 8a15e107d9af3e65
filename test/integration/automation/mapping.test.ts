import test from 'ava';
import fc from 'fast-check';
import { createExpressions } from '../../../src/infra/expressions/index.js';
import { followPath, parseJsonPath } from '../../../src/automation/triggers/json-path.js';
import { compactJson, cutText, mappedContext } from '../../../src/automation/triggers/mapped-context.js';
import { parseTriggerConfig } from '../../../src/automation/triggers/config/trigger-config.js';
import { givenContext } from '../../../src/automation/management/given-payload.js';
import { payloadOf } from '../../../src/automation/intake/payload.js';
import { queryOf } from '../../../src/automation/intake/query.js';
import { oneTenant, startSandbox } from '../../support/servers/sandbox.js';
import { anyText } from '../../support/builders/any-text.js';

const payload = {
  customer: { name: 'Ada', 'odd name': 'x', "it's": 'quoted', vip: true, age: 36, note: null },
  lines: [{ sku: 'a' }, { sku: 'b' }],
  long: 'y'.repeat(3_000),
};

test('paths of names and numbers lead to one value', (t) => {
  const follow = (path: string): unknown => followPath(parseJsonPath(path) ?? ['no path'], payload);
  t.is(follow('$.customer.name'), 'Ada');
  t.is(follow("$['customer']['odd name']"), 'x');
  t.is(follow("$.customer['it\\'s']"), 'quoted');
  t.is(follow('$.lines[1].sku'), 'b');
  t.is(follow('$'), payload);
  for (const nowhere of [
    '$.no',
    '$.lines[2]',
    '$.lines.sku',
    '$.customer[0]',
    '$.lines.length',
    '$.__proto__',
    '$.customer.constructor',
  ])
    t.is(follow(nowhere), undefined, nowhere);
});

test('a path with any other syntax of JSONPath is refused', (t) => {
  for (const path of [
    '',
    'customer',
    '$..name',
    '$.*',
    '$[*]',
    '$[-1]',
    '$[0:2]',
    '$[?(@.a)]',
    '$.',
    '$.a.',
    '$[a]',
    '$.a b',
    '@.a',
    `$${'.a'.repeat(33)}`,
    '$[0,1]',
    '$["name"]',
    '$.a["b"].c',
  ])
    t.is(parseJsonPath(path), undefined, path);
});

test('no text makes the path reader throw or hang', (t) => {
  fc.assert(fc.property(anyText(), (text) => void parseJsonPath(`$${text}`)));
  t.pass();
});

test('a mapping copies scalars, writes objects as JSON, cuts long values and omits missing ones', (t) => {
  const context = mappedContext(
    {
      name: '$.customer.name',
      vip: '$.customer.vip',
      age: '$.customer.age',
      lines: '$.lines',
      long: '$.long',
      note: '$.customer.note',
      missing: '$.nowhere',
      tenant_id: '$.customer.name',
      __proto__x: '$.customer.name',
      _hidden: '$.customer.name',
    },
    payload,
  );
  t.deepEqual(context, {
    name: 'Ada',
    vip: true,
    age: 36,
    lines: '[{"sku":"a"},{"sku":"b"}]',
    long: 'y'.repeat(2_000),
    __proto__x: 'Ada',
    _hidden: 'Ada',
  });
});

test('a stored mapping of an earlier release, with double quotes, is still read', (t) => {
  const mapping = { name: '$["customer"]["name"]', odd: `$.customer["it's"]`, sku: '$["lines"][1].sku' };
  t.deepEqual(mappedContext(mapping, payload), { name: 'Ada', odd: 'quoted', sku: 'b' });
});

test('writing JSON stops soon after the length that is read', (t) => {
  const values = [
    null,
    true,
    -1.5e300,
    '',
    'a"\u2028\n\\',
    [],
    {},
    [[], {}, [{}]],
    { a: [], b: { c: null } },
    ['x'.repeat(50), { ['n'.repeat(50)]: 1 }],
    '👍'.repeat(20),
    [1, 'two', { three: [4, '5'] }],
  ];
  for (const value of values) {
    for (let length = 1; length < 120; length += 1) {
      t.is(cutText(compactJson(value, length), length), cutText(JSON.stringify(value), length));
    }
  }
  const huge = Array.from({ length: 100_000 }, (_, index) => ({ index, text: 'x'.repeat(20) }));
  t.true(compactJson({ huge }, 2_000).length < 2_100);
  const long = 'x'.repeat(1_000_000);
  t.true(compactJson([long], 2_000).length < 2_100);
  t.true(compactJson({ [long]: 1 }, 2_000).length < 2_100);
});

test('a value is not cut in the middle of a character', (t) => {
  const { x } = mappedContext({ x: '$.x' }, { x: `${'a'.repeat(1_999)}😀` });
  t.is(x, 'a'.repeat(1_999));
});

test('a payload that is given by hand is not cut in the middle of a character', (t) => {
  const parsed = parseTriggerConfig('webhook', {});
  const text = `${'a'.repeat(1_999)}😀`;
  const context = givenContext(parsed, { text, list: [text], short: '😀', count: 1 });
  t.deepEqual(context, {
    text: 'a'.repeat(1_999),
    list: `["${'a'.repeat(1_998)}`,
    short: '😀',
    count: 1,
  });
});

test('a query has no character that cannot be stored', async (t) => {
  const expressions = createExpressions(startSandbox(t), { timeoutMs: 60_000 });
  const query = (expression: string) =>
    queryOf(oneTenant, { mode: 'jmespath', expression }, payload, expressions);
  t.is(await query('`"a\\u0000b"`'), 'ab');
  t.is(await query('`"a\\ud83d"`'), 'a\ufffd');
  const empty = await t.throwsAsync(async () => query('`"\\u0000"`'));
  t.is(empty !== undefined && 'code' in empty ? empty.code : '', 'no_message');
});

test('the query is taken in each of the four modes', async (t) => {
  const expressions = createExpressions(startSandbox(t), { timeoutMs: 60_000 });
  const query = (extraction: Parameters<typeof queryOf>[1], from: unknown = payload) =>
    queryOf(oneTenant, extraction, from, expressions);
  t.is(await query({ mode: 'field', field: 'customer.name' }), 'Ada');
  t.is(await query({ mode: 'field', field: 'lines' }), '[{"sku":"a"},{"sku":"b"}]');
  t.is(await query({ mode: 'jmespath', expression: 'lines[*].sku' }), '["a","b"]');
  t.is(await query({ mode: 'template', template: 'Order of {{ customer.name }}' }), 'Order of Ada');
  t.is(await query({ mode: 'full_body' }, { a: 1 }), '{"a":1}');
  t.is(await query({ mode: 'full_body' }, 'plain text'), 'plain text');
});

test('an empty query and a runaway expression are refused', async (t) => {
  const expressions = createExpressions(startSandbox(t));
  const refused = async (extraction: Parameters<typeof queryOf>[1]) => {
    const error = await t.throwsAsync(async () => queryOf(oneTenant, extraction, payload, expressions));
    t.is(error !== undefined && 'code' in error ? error.code : '', 'no_message');
  };
  await refused({ mode: 'field', field: 'nowhere' });
  await refused({ mode: 'template', template: ' {{ nowhere }} ' });
  await refused({ mode: 'jmespath', expression: 'nowhere' });
  await refused({ mode: 'jmespath', expression: `@${'|[@,@][]'.repeat(120)}` });
});

test('bodies are read by their content type', (t) => {
  const read = (type: string, body: string): unknown => payloadOf(type, Buffer.from(body));
  t.deepEqual(read('application/json; charset=utf-8', '{"a":[1]}'), { a: [1] });
  t.deepEqual(read('application/vnd.api+json', '{"a":1}'), { a: 1 });
  t.deepEqual(read('application/x-www-form-urlencoded', 'From=%2B49&Body=a+b'), { From: '+49', Body: 'a b' });
  t.is(read('text/plain', 'hello'), 'hello');
  t.deepEqual(read('', '{"a":1}'), { a: 1 });
  t.is(read('', 'hello'), 'hello');
  for (const type of ['application/json', 'application/x-www-form-urlencoded', 'text/plain', '']) {
    t.is(read(type, ''), '', type);
  }
});

test('bodies that do not match their content type are refused', (t) => {
  const codeOf = (type: string, body: Uint8Array): unknown => {
    const error = t.throws(() => payloadOf(type, body));
    return error !== undefined && 'code' in error ? error.code : undefined;
  };
  t.is(codeOf('application/json', Buffer.from('a=b')), 'malformed_body');
  t.is(codeOf('application/json', Buffer.from('[['.repeat(100))), 'malformed_body');
  t.is(codeOf('text/plain', Buffer.from([0xff, 0xfe])), 'malformed_body');
  t.is(codeOf('application/x-www-form-urlencoded', Buffer.from('a=%00')), 'validation_error');
  t.is(codeOf('application/x-www-form-urlencoded', Buffer.from('&a'.repeat(1_000))), 'validation_error');
  t.is(codeOf('application/json', Buffer.from(`[${'0,'.repeat(50_001)}0]`)), 'malformed_body');
  t.is(codeOf('image/png', Buffer.from('x')), 'unsupported_media_type');
});
