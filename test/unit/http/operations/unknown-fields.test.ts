import test from 'ava';
import { z } from 'zod';
import type { PlatformError } from '../../../../src/kernel/errors.js';
import {
  anyone,
  declare,
  refuseUnknownFields,
  validBody,
  validQuery,
} from '../../../../src/http/operations/index.js';

const tool = z.discriminatedUnion('type', [
  z.object({ type: z.literal('api'), url: z.string(), timeout_ms: z.int().optional() }),
  z.object({ type: z.literal('agent'), agent_id: z.string() }),
]);

const body = z.object({
  name: z.string(),
  llm_config: z.object({ model: z.string(), temperature: z.number() }).partial().nullish(),
  metadata: z.looseObject({ memory: z.object({ enabled: z.boolean() }).optional() }).default({}),
  bindings: z.record(z.string(), z.unknown()).optional(),
  tools: z.array(tool).default([]),
  content: z.union([z.string(), z.array(z.object({ text: z.string() }))]).optional(),
  retry: z.preprocess((given) => given, z.object({ attempts: z.int() })).optional(),
  shaped: z
    .object({ size: z.int().optional() })
    .transform(({ size }) => size)
    .optional(),
});

const refused: readonly (readonly [given: object, field: string, issue: RegExp])[] = [
  [{ nmae: 'x' }, 'nmae', /Did you mean "name"\?$/],
  [{ name: 'x', llm_config: { modle: 'y' } }, 'llm_config.modle', /Did you mean "model"\?$/],
  [{ tools: [{ type: 'api', url: 'x', timeoutms: 1 }] }, 'tools.0.timeoutms', /"timeout_ms"/],
  [{ tools: [{ type: 'agent', url: 'x' }] }, 'tools.0.url', /Known here: type, agent_id\.$/],
  [{ tools: [{ typ: 'api', url: 'x' }] }, 'tools.0.typ', /"type"/],
  [{ metadata: { memory: { enabeld: true } } }, 'metadata.memory.enabeld', /"enabled"/],
  [{ content: [{ text: 'a', txet: 'b' }] }, 'content.0.txet', /"text"/],
  [{ retry: { atempts: 1 } }, 'retry.atempts', /"attempts"/],
  [{ shaped: { sze: 1 } }, 'shaped.sze', /"size"/],
  [{ quite_different: 1 }, 'quite_different', /Known here: name, llm_config, /],
];

for (const [given, field, issue] of refused) {
  test(`an unknown field is named with its path and the closest known one: ${field}`, (t) => {
    const error = t.throws<PlatformError>(() => refuseUnknownFields(body, given));
    t.is(error?.code, 'unknown_field');
    t.is(error?.details?.['field'], field);
    t.regex(String(error?.details?.['issue']), issue);
    t.true(error?.message.startsWith(`${field} is not a field of this request.`));
  });
}

test('maps of the tenant take any name, and values of a wrong type are left to the schema', (t) => {
  for (const given of [
    { name: 'x', metadata: { anything: { goes: 1 } }, bindings: { customer: { deep: true } } },
    { name: 'x', llm_config: null, content: 'a text', tools: [{ type: 'api', url: 'x' }] },
    { name: 'x', tools: [{ type: 'nothing known', whatever: 1 }], retry: 7, shaped: [] },
    null,
    'a text',
    [],
  ]) {
    t.notThrows(() => refuseUnknownFields(body, given), JSON.stringify(given));
  }
});

const common = { path: '/things', title: 'Things', access: anyone(), output: z.unknown() } as const;

test('a mistyped query parameter is refused, and one of another kind is ignored', (t) => {
  const list = declare({
    ...common,
    name: 'things.list',
    method: 'GET',
    query: z.object({ limit: z.string().optional() }),
    handle: () => ({}),
  });
  const error = t.throws<PlatformError>(() => validQuery(list, { limt: '5' }));
  t.is(error?.code, 'unknown_parameter');
  t.like(error?.details, { field: 'limt' });
  t.regex(error?.message ?? '', /^limt is not a query parameter of this operation\. Did you mean "limit"\?$/);
  const bare = declare({ ...common, name: 'things.get', method: 'GET', handle: () => ({}) });
  t.deepEqual(validQuery(list, { _: '1', limit: '5' }), { limit: '5' });
  t.deepEqual(validQuery(bare, { a: '1' }), {});
});

test('interfaces with separate rules and probes ignore unknown names', (t) => {
  for (const own of [
    { dialect: 'invocation' },
    { dialect: 'openai' },
    { dialect: 'anthropic' },
    { rate: 'uncounted' },
    { unknownFields: 'ignore' },
  ] as const) {
    const operation = declare({
      ...common,
      ...own,
      name: 'a.b',
      method: 'POST',
      body: z.object({ name: z.string() }),
      handle: () => ({}),
    });
    t.deepEqual(validBody(operation, { name: 'x', surprise: 1 }), { name: 'x' });
    t.deepEqual(validQuery(operation, { beta: 'true' }), {});
  }
});

test('a change may carry the fields of the resource that it answers: they have no effect', (t) => {
  const patch = declare({
    ...common,
    name: 'things.patch',
    method: 'PATCH',
    body: z.object({ name: z.string().optional(), settings: z.object({ a: z.int() }).optional() }),
    output: z.object({
      success: z.literal(true),
      data: z.object({ id: z.string(), name: z.string(), settings: z.object({ a: z.int() }) }),
    }),
    handle: () => ({ success: true as const, data: { id: '1', name: 'x', settings: { a: 1 } } }),
  });
  t.deepEqual(validBody(patch, { id: '1', name: 'x' }), { name: 'x' });
  for (const [given, field] of [
    [{ id: '1', nmae: 'x' }, 'nmae'],
    [{ settings: { id: 1 } }, 'settings.id'],
  ] as const) {
    t.is(t.throws<PlatformError>(() => validBody(patch, given))?.details?.['field'], field);
  }
});

test('a value outside of an enumeration comes with the nearest choice', (t) => {
  const operation = declare({
    ...common,
    name: 'a.b',
    method: 'POST',
    body: z.object({ trigger_type: z.enum(['webhook', 'email', 'schedule']) }),
    handle: () => ({}),
  });
  const error = t.throws<PlatformError>(() => validBody(operation, { trigger_type: 'webook' }));
  t.is(error?.details?.['field'], 'trigger_type');
  t.regex(error?.message ?? '', /Did you mean "webhook"\?$/);
});
