import test from 'ava';
import { z } from 'zod';
import { anyone, declare, OperationTable } from '../../../../src/http/operations/index.js';
import { fieldChanges } from '../../../../src/http/operations/audit-changes.js';

test('the table refuses an operation that changes something and names no action', (t) => {
  const change = declare({
    name: 'things.create',
    method: 'POST',
    path: '/api/things',
    title: 'Make a thing',
    access: anyone(),
    output: z.object({}),
    handle: () => ({}),
  });
  t.throws(() => new OperationTable([change]), {
    message: 'the operation things.create (POST /api/things) changes something and names no audit action',
  });
  t.notThrows(() => new OperationTable([{ ...change, audit: 'things.create', idempotency: 'made' }]));
  t.notThrows(() => new OperationTable([{ ...change, method: 'GET' }]));
});

test('the table refuses a POST that may make something and has no rule for repeats, whatever its status', (t) => {
  const declaration = {
    name: 'things.again',
    method: 'POST',
    path: '/api/things/:id/again',
    title: 'Make a thing again',
    access: anyone(),
    output: z.object({}),
    handle: () => ({}),
  } as const;
  const message =
    'the operation things.again (POST /api/things/:id/again) may make something and has no idempotency rule';
  const elsewhere = { exempt: 'the call is the record', entries: 'never' } as const;
  for (const audit of ['things.again', elsewhere] as const) {
    const operation = declare({ ...declaration, audit });
    t.is(operation.status, 200);
    t.throws(() => new OperationTable([operation]), { message });
    for (const idempotency of ['made', { exempt: 'a repeat changes nothing' }] as const)
      t.notThrows(() => new OperationTable([{ ...operation, idempotency }]));
  }
  const exempt = { exempt: 'a check that changes nothing' };
  t.notThrows(() => new OperationTable([declare({ ...declaration, audit: exempt })]));
  t.throws(() => new OperationTable([declare({ ...declaration, audit: exempt, status: 201 })]), { message });
});

test('changes hold what differs, without secrets and texts at any depth', (t) => {
  t.deepEqual(
    fieldChanges(
      { path: '/api/triggers/:id', method: 'PATCH' },
      { name: 'a', config: { cron: '1 * * * *', message: 'old words' } },
      { name: 'a', config: { cron: '2 * * * *', message: 'new words', auth: { token: 'x' } }, value: 'y' },
    ),
    { config: { old: { cron: '1 * * * *' }, new: { cron: '2 * * * *' } } },
  );
  t.deepEqual(
    fieldChanges({ path: '/api/v1/sessions/:id/handoff', method: 'POST' }, {}, { reason: 'words' }),
    {},
  );
});

test('a change of a part is told as that part before and after it', (t) => {
  const agent = { path: '/api/agents/:id', method: 'PATCH' } as const;
  const before = { llm_config: { model: 'auto', temperature: 1, max_tokens: 5 } };
  t.deepEqual(fieldChanges(agent, before, { llm_config: { temperature: 0.2, max_tokens: null } }), {
    llm_config: { old: { temperature: 1, max_tokens: 5 }, new: { temperature: 0.2 } },
  });
  t.deepEqual(fieldChanges(agent, before, { llm_config: { temperature: 1 } }), {});
});

test('a change of a secret part is told without the part', (t) => {
  const trigger = { path: '/api/triggers/:id', method: 'PATCH' } as const;
  const before = { trigger_config: { auth: { type: 'signature' }, timeout_ms: 5 } };
  t.deepEqual(fieldChanges(trigger, before, { trigger_config: { auth: { type: 'none' } } }), {
    trigger_config: { old: {}, new: {} },
  });
});

test('an object that a change replaces is told whole', (t) => {
  const tenant = { path: '/api/tenants/:id', method: 'PATCH' } as const;
  const aliases = { model_aliases: { a: 'x', b: 'y' } };
  t.deepEqual(fieldChanges(tenant, aliases, { model_aliases: { a: 'x' } }), {
    model_aliases: { old: { a: 'x', b: 'y' }, new: { a: 'x' } },
  });
});

test('a field in camel case is compared with the one that the answer shows', (t) => {
  const rate = { path: '/api/keys/:keyId/rpm', method: 'PATCH' } as const;
  t.deepEqual(fieldChanges(rate, { rate_limit_per_minute: 10 }, { rateLimitPerMinute: 20 }), {
    rateLimitPerMinute: { old: 10, new: 20 },
  });
});
