// Tenants' JSON Schemas are checked in a child process and never compiled.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { faultOfJsonSchema } from '../../../src/agents/schemas/json-schemas.js';
import { type AgentsBench, dataOf, idOf, type Person, startAgents } from '../../support/servers/agents.js';
import { longestTurn } from '../../support/clocks/longest-turn.js';
import { databaseOfFile } from '../../support/database/database.js';
import { newSandbox, oneTenant, patientTasks } from '../../support/servers/sandbox.js';

const database = databaseOfFile(test);
const draft = 'https://json-schema.org/draft/2020-12/schema';
const sandbox = newSandbox();
let bench: AgentsBench;

test.serial.before(async () => {
  bench = await startAgents(database);
});
test.after.always(() => sandbox.close());

const numbered = <Value>(count: number, nameOf: (index: number) => string, value: Value) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [nameOf(index), value]));

/** Each takes seconds to compile and has less than 64 KB. */
const slow = {
  patternProperties: {
    type: 'object',
    patternProperties: numbered(2_400, (index) => `^a${index}$`, {}),
  },
  allOf: {
    type: 'object',
    unevaluatedProperties: false,
    allOf: Array.from({ length: 2_300 }, (_, index) => ({ properties: { [`a${index}`]: {} } })),
  },
};

async function agentWith(owner: Person, schemas: readonly object[]): Promise<string> {
  const made = await owner.call('POST', '/api/agents', { name: `checked-${randomUUID().slice(0, 8)}` });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  const agent = idOf(made);
  for (const [index, parameters] of schemas.entries()) {
    const schema = {
      name: `tool${index}`,
      type: 'api',
      parameters,
      editor_schema: { api: { url: 'http://127.0.0.1:8/' } },
    };
    const { status, body } = await owner.call('POST', `/api/agents/${agent}/schemas`, schema);
    if (status !== 201) throw new Error(JSON.stringify(body));
  }
  return agent;
}

async function validate(owner: Person, agent: string): Promise<Record<string, unknown>> {
  return dataOf(await owner.call('POST', `/api/agents/${agent}/validate`));
}

test("a schema with the draft's $id affects no other tenant", async (t) => {
  const [hostile, other] = [
    bench.person(await bench.newTenant(), 'owner'),
    bench.person(await bench.newTenant(), 'owner'),
  ];
  for (const $id of [draft, `${draft}#`, 'https://json-schema.org/draft/2020-12/meta/core']) {
    const agent = await agentWith(hostile, [{ $id, type: 'object', properties: { a: { type: 'string' } } }]);
    t.like(await validate(hostile, agent), { valid: true }, $id);
    await hostile.call('POST', `/api/agents/${agent}/archive`);
    const second = await agentWith(hostile, [{ $id, type: 'object', properties: { $id: { $id } } }]);
    await validate(hostile, second);
    await hostile.call('POST', `/api/agents/${second}/archive`);
  }
  const agent = await agentWith(other, [{ $schema: draft, type: 'object' }, { type: 'object' }]);
  const published = await other.call('POST', `/api/agents/${agent}/publish`);
  t.is(published.status, 200, JSON.stringify(published.body));
});

// Serial: it measures the processor time of this process.
test.serial('schemas that take seconds to compile delay nobody', async (t) => {
  const owner = bench.person(await bench.newTenant(), 'owner');
  const agent = await agentWith(owner, [
    slow.patternProperties,
    slow.allOf,
    slow.patternProperties,
    slow.allOf,
  ]);
  const { result: found, turnMs } = await longestTurn(() => validate(owner, agent));
  t.false(found['valid']);
  t.regex(JSON.stringify(found['issues']), /more than 2000 subschemas/);
  t.true(turnMs < 1_500, `the event loop stood still for ${turnMs} ms`);
});

// Serial: it measures the processor time of this process.
test.serial('an agent with many tools of maximum size is validated one by one', async (t) => {
  const owner = bench.person(await bench.newTenant(), 'owner');
  const large = { type: 'object', properties: numbered(1_900, (index) => `p${index}`, { type: 'string' }) };
  const agent = await agentWith(
    owner,
    Array.from({ length: 32 }, () => large),
  );
  const { result: found, turnMs } = await longestTurn(() => validate(owner, agent));
  t.like(found, { valid: true });
  t.true(turnMs < 1_500, `the event loop stood still for ${turnMs} ms`);
});

function faultOf(schema: object): ReturnType<typeof faultOfJsonSchema> {
  return faultOfJsonSchema(patientTasks(sandbox), oneTenant, schema as Record<string, unknown>);
}

test('schemas that refer to their own parts are valid', async (t) => {
  const $defs = {
    city: { $anchor: 'town', type: 'string' },
    'a/b': true,
    'c~d': {},
    'e f': {},
    list: { prefixItems: [{}], items: false },
  };
  for (const $ref of ['#', '#/$defs/city', '#town', '#/$defs/a~1b', '#/$defs/c~0d', '#/$defs/e%20f']) {
    t.is(await faultOf({ type: 'object', $defs, properties: { x: { $ref } } }), undefined, $ref);
  }
  t.is(await faultOf({}), undefined);
  t.is(await faultOf({ definitions: { a: {} }, properties: { x: { $ref: '#/definitions/a' } } }), undefined);
});

test('schemas with unresolved references are reported', async (t) => {
  for (const $ref of [
    draft,
    'https://example.com/city.json',
    'city.json',
    '#/$defs/nowhere',
    '#nowhere',
    '#/$defs/constructor',
    '#/__proto__',
    '#/properties/x/$ref',
    '#/%',
  ]) {
    const fault = await faultOf({ type: 'object', $defs: {}, properties: { x: { $ref } } });
    t.regex(fault?.issue ?? '', /can't resolve reference .* at properties\.x\.\$ref/, $ref);
  }
  const dynamic = await faultOf({ $dynamicRef: 'https://example.com/#node' });
  t.regex(dynamic?.issue ?? '', /can't resolve reference/);
});

test('a keyword-like name in a data position is data', async (t) => {
  const data = { $ref: 'nowhere', pattern: '(' };
  t.is(await faultOf({ default: data, enum: [data], const: data, examples: [data] }), undefined);
  t.is(await faultOf({ properties: { $ref: { type: 'string' }, pattern: { type: 'string' } } }), undefined);
});

test('regular expressions are parsed and never applied', async (t) => {
  const runaway = '^(([a-z])+.)+[A-Z]([a-z])+$';
  const value = 'a'.repeat(200);
  t.is(await faultOf({ patternProperties: { [runaway]: {} }, properties: { [value]: {} } }), undefined);
  t.is(await faultOf({ properties: { a: { pattern: runaway, default: value } } }), undefined);
  t.like(await faultOf({ properties: { a: { pattern: '(' } } }), { at: 'properties.a.pattern' });
  t.like(await faultOf({ patternProperties: { '[': {} } }), { at: 'patternProperties' });
  t.like(await faultOf({ items: { pattern: '('.repeat(60_000) } }), { at: 'items.pattern' });
});

test('a schema has a bounded number of subschemas and a bounded depth', async (t) => {
  const nested = (levels: number): object =>
    JSON.parse('{"not":'.repeat(levels) + '{}' + '}'.repeat(levels)) as object;
  t.is(await faultOf(nested(60)), undefined);
  t.regex((await faultOf(nested(100)))?.issue ?? '', /more than 64/);
  t.regex((await faultOf(nested(9_000)))?.issue ?? '', /more than 64|too deep/);
  for (const schema of Object.values(slow)) {
    t.regex((await faultOf(schema))?.issue ?? '', /more than 2000 subschemas/);
  }
});

test('an invalid schema is reported with its location', async (t) => {
  t.like(await faultOf({ type: 'object', properties: { city: { type: 'nonsense' } } }), {
    at: 'properties.city.type',
  });
  t.like(await faultOf({ type: 'array' }), {
    at: 'type',
    issue: 'must be object, because arguments have names',
  });
  t.like(await faultOf({ properties: { 'a/b': { required: 'x' } } }), { at: 'properties.a/b.required' });
  t.is(await faultOf({ $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' }), undefined);
});
