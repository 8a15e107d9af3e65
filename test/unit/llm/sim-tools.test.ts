import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import test from 'ava';
import fc from 'fast-check';
import { type LlmRequest, outputTokens } from '../../../src/llm/index.js';
import { fillSchema } from '../../../src/llm/sim/fill-schema.js';
import { ask, call, simTarget } from '../../support/servers/vendors/call-harness.js';

const tools: NonNullable<LlmRequest['tools']> = [
  {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1, maximum: 7 } },
      required: ['city', 'days'],
    },
  },
  { name: 'bookHotel', parameters: { type: 'object', properties: { nights: { type: 'number' } } } },
];

const run = (request: Partial<LlmRequest>) => call([simTarget('sim.tools')], { request });

const question = 'get the weather, city: Rome, for 3 days';

test('a tool that the user names is called, with what the text says', async (t) => {
  const { answer, reports } = await run({ ...ask(question), tools });
  t.is(answer.stop, 'tool_calls');
  t.is(answer.text, '');
  t.deepEqual(
    answer.toolCalls.map(({ name, arguments: args }) => [name, JSON.parse(args)]),
    [['get_weather', { city: 'Rome', days: 3 }]],
  );
  t.true(outputTokens(reports[0]?.usage ?? t.fail()) > 0);
});

test('names in camel case are found, several tools are called at once unless that is excluded', async (t) => {
  const both = { ...ask('get weather and book hotel'), tools };
  const { answer } = await run(both);
  t.deepEqual(
    answer.toolCalls.map(({ name }) => name),
    ['get_weather', 'bookHotel'],
  );
  t.is((await run({ ...both, parallelToolCalls: false })).answer.toolCalls.length, 1);
});

test('the choice of a tool is honoured', async (t) => {
  const plain = { ...ask('hello'), tools };
  t.is((await run(plain)).answer.text, 'echo: hello');
  t.is((await run({ ...ask(question), tools, toolChoice: 'none' })).answer.text, `echo: ${question}`);
  t.is((await run({ ...plain, toolChoice: 'required' })).answer.toolCalls[0]?.name, 'get_weather');
  const named = await run({ ...ask(question), tools, toolChoice: { name: 'bookHotel' } });
  t.deepEqual(
    named.answer.toolCalls.map(({ name }) => name),
    ['bookHotel'],
  );
});

test('after the results the answer is a text that holds them', async (t) => {
  const messages: LlmRequest['messages'] = [
    { role: 'user', content: [{ type: 'text', text: question }] },
    { role: 'assistant', content: [{ type: 'tool_call', id: 'a', name: 'get_weather', arguments: '{}' }] },
    { role: 'tool', callId: 'a', name: 'get_weather', content: [{ type: 'text', text: '21 degrees' }] },
    {
      role: 'tool',
      callId: 'b',
      name: 'bookHotel',
      content: [{ type: 'text', text: 'full' }],
      isError: true,
    },
  ];
  const { answer } = await run({ messages, tools });
  t.is(answer.text, 'get_weather answered: 21 degrees\nbookHotel failed: full');
  t.is(answer.stop, 'stop');
});

test('the form of the answer, its bound and its stop sequences are honoured', async (t) => {
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const formed = await run({
    ...ask('city: Rome'),
    responseFormat: { type: 'json_schema', name: 'place', schema },
  });
  t.deepEqual(JSON.parse(formed.answer.text), { city: 'Rome' });
  const json = await run({ ...ask('hi'), responseFormat: { type: 'json' } });
  t.deepEqual(JSON.parse(json.answer.text), { answer: 'hi' });
  const short = await run({ ...ask('one two three'), maxTokens: 2 });
  t.deepEqual([short.answer.text, short.answer.stop], ['echo: one', 'length']);
  const stopped = await run({ ...ask('one two three'), stop: ['', 'three', 'two'] });
  t.deepEqual([stopped.answer.text, stopped.answer.stop], ['echo: one ', 'stop_sequence']);
  const cut = await run({ ...ask(question), tools, maxTokens: 1 });
  t.is(cut.answer.stop, 'length');
});

test('sim.tools-<n> waits before each piece', async (t) => {
  const { answer, reports } = await call([simTarget('sim.tools-30')], { request: ask('one two') });
  t.is(answer.text, 'echo: one two');
  t.true((reports[0]?.durationMs ?? 0) >= 85);
});

const leaf = fc.oneof(
  fc.constantFrom(
    { type: 'string' },
    { type: 'string', minLength: 3, maxLength: 5 },
    { type: 'string', format: 'email' },
    { type: 'string', format: 'date-time' },
    { type: ['string', 'null'] },
    { type: 'integer', minimum: 5, maximum: 9 },
    { type: 'number', exclusiveMinimum: 0 },
    { type: 'boolean' },
    { type: 'null' },
    { enum: ['red', 'green', 3] },
    { const: { fixed: true } },
    { $ref: '#/$defs/shared' },
    {},
  ),
);
const { schema: schemas } = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.record({ type: fc.constant('array'), items: tie('schema'), minItems: fc.integer({ min: 0, max: 3 }) }),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
    fc.dictionary(fc.constantFrom('a', 'b', 'city'), tie('schema')).map((properties) => ({
      type: 'object',
      properties,
      required: Object.keys(properties),
      additionalProperties: false,
    })),
  ),
}));

test('what is filled fits its schema, whatever the text says', (t) => {
  fc.assert(
    fc.property(schemas, fc.string(), (schema, text) => {
      const whole = { ...schema, $defs: { shared: { type: 'string', minLength: 1 } } };
      const ajv = new Ajv2020({ strict: false });
      formats.default(ajv);
      const value = fillSchema(whole, text);
      if (!ajv.validate(whole, value)) throw new Error(`${JSON.stringify(value)}: ${ajv.errorsText()}`);
    }),
    { numRuns: 300 },
  );
  t.pass();
});

test('a value that the text gives is taken only if it has the format of the field', (t) => {
  const when = {
    type: 'object',
    properties: { a: { type: 'string', format: 'date-time' } },
    required: ['a'],
  };
  t.deepEqual(fillSchema(when, 'a: 2027-02-03T04:05:06Z'), { a: '2027-02-03T04:05:06Z' });
  t.deepEqual(fillSchema(when, 'a:!'), { a: '2026-01-01T12:00:00Z' });
  const mail = { type: 'object', properties: { to: { type: 'string', format: 'email' } }, required: ['to'] };
  t.deepEqual(fillSchema(mail, 'to: ann@example.org'), { to: 'ann@example.org' });
  t.deepEqual(fillSchema(mail, `to: ${'a'.repeat(300)}@example.org`), { to: 'user@example.com' });
});

test('an integer above a fraction is rounded up', (t) => {
  const size = { type: 'integer', minimum: 1.5, maximum: 2.5 };
  t.is(fillSchema(size, '0'), 2);
  t.is(fillSchema(size, '9'), 2);
});

test('a number that JSON cannot write is none', (t) => {
  const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
  t.deepEqual(fillSchema(schema, 'n: Infinity'), { n: 1 });
  t.deepEqual(fillSchema(schema, `n: -${'9'.repeat(400)}, or 7`), { n: 7 });
  t.is(fillSchema({ type: 'integer' }, `${'9'.repeat(400)} or 7`), 7);
});

test('a value is taken from where the text gives it, not from where it only mentions its name', (t) => {
  const schema = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] };
  t.deepEqual(fillSchema(schema, 'please refund order, reorder: 1, order: 4711'), { order: '4711' });
  t.deepEqual(fillSchema(schema, 'order = "a b"'), { order: 'a b' });
});

test('a property with the name of a prototype is a property', (t) => {
  const properties = JSON.parse('{"__proto__":{"const":{"polluted":true}}}') as object;
  const value = fillSchema({ type: 'object', properties, required: ['__proto__'] }, 'x');
  t.is(JSON.stringify(value), '{"__proto__":{"polluted":true}}');
  t.is(Object.getPrototypeOf(value), Object.prototype);
});

test('a schema without an end, or of a stranger, is filled within bounds', (t) => {
  const endless = {
    $ref: '#/$defs/node',
    $defs: { node: { type: 'object', required: ['next'], properties: { next: { $ref: '#/$defs/node' } } } },
  };
  t.true(JSON.stringify(fillSchema(endless, 'x')).length < 1_000);
  t.is(fillSchema({ $ref: '#' }, 'x'), null);
  t.is(fillSchema({ $ref: 'https://example.com/schema' }, 'x'), null);
  t.is(fillSchema({ $ref: '#/%' }, 'x'), null);
  t.is(fillSchema({ enum: [] }, 'x'), null);
  const wide = { type: 'array', minItems: 1e9, items: { type: 'array', minItems: 1e9, items: {} } };
  t.true(JSON.stringify(fillSchema(wide, 'x'.repeat(100))).length < 1_000_000);
});

test('an answer that cannot be made fails its attempt, also in a turn of its own', async (t) => {
  const parameters = Object.defineProperty({}, 'type', {
    get: () => {
      throw new Error('unreadable');
    },
  });
  for (const model of ['sim.tools', 'sim.tools-1']) {
    const request = { ...ask('weather'), tools: [{ name: 'weather', parameters }] };
    const { outcome, reports } = await call([simTarget(model)], { request });
    t.is(outcome.error?.failure, 'nonsense');
    t.true(reports.length > 0, 'it is recorded');
  }
});
