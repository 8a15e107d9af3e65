import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import test from 'ava';
import { z } from 'zod';
import { type ErrorCode, errorKinds } from '../../src/kernel/errors.js';
import { realtimeEventShape } from '../../src/conversations/realtime/index.js';
import { documentsPage, operationList } from '../../src/http/documents/page.js';
import {
  anyone,
  declare,
  type Operation,
  OperationTable,
  spelled,
  validBody,
} from '../../src/http/operations/index.js';
import { eventually } from '../support/clocks/eventually.js';
import type { Json } from '../support/clients/client.js';
import { holdEvent } from '../support/clients/declared-events.js';
import { openSocket } from '../support/clients/sockets.js';
import type { TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

async function documentOf({ client }: TenantNode): Promise<Json> {
  return (await client.call('GET', '/openapi.json')).json;
}

function describedIn(document: Json, { path, method }: Operation): Json {
  return document.paths[path.replaceAll(/:([^/]+)/g, '{$1}')]?.[method.toLowerCase()];
}

function resolved(document: Json, value: Json): Json {
  const [, , section = '', name = ''] = String(value?.$ref ?? '').split('/');
  return value?.$ref === undefined ? value : document.components[section][name];
}

test('the OpenAPI 3.1 document is valid and covers every operation with its answers and errors', async (t) => {
  const node = await shared.tenant(t);
  const document = await documentOf(node);
  const result = await new Validator().validate(document);
  t.deepEqual(result.errors, undefined);
  t.true(result.valid);
  t.is(document.openapi, '3.1.0');
  for (const operation of node.node.table.operations) {
    const described = describedIn(document, operation);
    t.is(described?.operationId, operation.name);
    t.truthy(described.responses[String(operation.status)], `${operation.name} describes its answer`);
    t.is(described.security.length > 0, operation.access.credentials.size > 0 || operation.access.anonymous);
    for (const code of operation.errors) {
      t.truthy(described.responses[String(errorKinds[code].status)], `${operation.name} describes ${code}`);
    }
  }
  const operations = Object.values(document.paths as Record<string, object>).flatMap((path) =>
    Object.keys(path),
  );
  t.is(operations.length, node.node.table.operations.length);
});

test('each error of an operation is one of the codes that its description lists, with its headers', async (t) => {
  const node = await shared.tenant(t);
  const document = await documentOf(node);
  for (const operation of node.node.table.operations) {
    const described = describedIn(document, operation);
    for (const code of operation.errors) {
      const { status } = errorKinds[code];
      const refusal = resolved(document, described.responses[String(status)]);
      const codes = JSON.stringify(refusal.content['application/json'].schema);
      t.true(codes.includes(`"${spelled(code, operation.dialect)}"`), `${operation.name}: ${code}`);
      t.truthy(refusal.headers['X-Request-Id']);
      if (status === 429) t.truthy(refusal.headers['Retry-After']);
    }
  }
  const known = Object.keys(errorKinds).map((code) => spelled(code as ErrorCode, 'general'));
  for (const code of known) t.true(document.components.schemas.ErrorCode.enum.includes(code), code);
});

test('every example fits its schema, and the operation takes every example of a body', async (t) => {
  const node = await shared.tenant(t);
  const document = await documentOf(node);
  const ajv = new Ajv2020({ strict: false, validateFormats: true });
  formats.default(ajv);
  ajv.addSchema(document, 'document');
  const refusals = Object.keys(document.components.responses).map((name) => [
    'components',
    'responses',
    name,
  ]);
  let examples = 0;
  for (const place of [...refusals, ...placesOf(node.node.table.operations)]) {
    const { content = {} } = place.reduce((part, name) => part[name] ?? {}, document);
    for (const [type, { example }] of Object.entries<Json>(content)) {
      if (type === 'application/json') t.not(example, undefined, `${place.join(' ')} has an example`);
      if (example === undefined) continue;
      examples += 1;
      const pointer = [...place, 'content', type, 'schema'].map(escaped).join('/');
      const validate = ajv.getSchema(`document#/${pointer}`);
      t.true(validate?.(example), `${pointer}: ${ajv.errorsText(validate?.errors)}`);
    }
    // The node shares the process and must not be late.
    await setImmediate();
  }
  t.true(examples > 250, `${examples} examples`);
  for (const operation of node.node.table.operations) {
    const { requestBody } = describedIn(document, operation);
    const body = requestBody?.content['application/json']?.example;
    if (body === undefined || operation.body === undefined) continue;
    t.notThrows(() => validBody(operation, body), `${operation.name}: ${JSON.stringify(body)}`);
  }
});

/** Where the document has the bodies of requests and answers. */
function placesOf(operations: readonly Operation[]): readonly (readonly string[])[] {
  return operations.flatMap(({ path, method, status }) => {
    const place = ['paths', path.replaceAll(/:([^/]+)/g, '{$1}'), method.toLowerCase()];
    return [
      [...place, 'requestBody'],
      [...place, 'responses', String(status)],
    ];
  });
}

function escaped(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
}

test('the configuration of a trigger and the events of a stream have a form for each type', async (t) => {
  const document = await documentOf(await shared.tenant(t));
  const { schemas } = document.components;
  const mapping = Object.keys(schemas.Trigger.discriminator.mapping);
  t.deepEqual(mapping, ['webhook', 'email', 'db_event', 'schedule']);
  t.deepEqual(schemas.NewTrigger.discriminator.mapping.schedule, '#/components/schemas/NewScheduleTrigger');
  t.truthy(schemas.ScheduleConfig.properties.cron);
  t.true(Object.keys(schemas.TurnEvent.discriminator.mapping).includes('approval'));
  const stream = document.paths['/api/v3/llm/public/call'].post.responses['200'];
  t.deepEqual(Object.keys(stream.content), ['application/json', 'text/event-stream']);
  t.truthy(stream.headers['X-Troupe-Paid-By']);
});

test('realtime events are as declared', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const key = bootstrap.api_key;
  const socket = await openSocket(`${client.baseUrl}/api/v1/realtime`, { 'x-api-key': key });
  const made = await client.call('POST', '/api/sessions', { key, body: { agent_id: bootstrap.agent_id } });
  const session = `/api/v1/sessions/${made.json.data.session_id}`;
  await client.call('POST', '/api/v1/consumers/crm%3A1/deny', { key, body: { reason: 'spam' } });
  await client.call('POST', `${session}/suspend`, { key, body: {} });
  await client.call('POST', `${session}/resume`, { key, body: {} });
  await eventually(() => socket.messages.length >= 3);
  for (const message of socket.messages) holdEvent(realtimeEventShape, JSON.parse(message));
  t.pass();
});

test('docs/openapi.json, of which the types of clients are made, is the served document', async (t) => {
  const { client } = await shared.tenant(t);
  const { json } = await client.call('GET', '/openapi.json');
  const written = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as object;
  t.deepEqual(written, { ...json, servers: [{ url: '/' }] }, 'run "node scripts/openapi.mjs"');
});

test('the documentation page names every operation and loads no outside resource', async (t) => {
  const { client, node } = await shared.tenant(t);
  const { text, headers } = await client.call('GET', '/docs');
  t.is(headers.get('content-type'), 'text/html; charset=utf-8');
  for (const { path } of node.table.operations) t.true(text.includes(path), path);
  const loaded = [...text.matchAll(/<(?:script|link|img)\b[^>]*?(?:src|href)="([^"]*)"/g)].map(
    ([, url]) => url,
  );
  t.true(loaded.length > 2);
  t.deepEqual(
    loaded.filter((url) => url?.startsWith('/assets/') !== true),
    [],
  );
  const policy = headers.get('content-security-policy') ?? '';
  t.notRegex(policy, /unsafe|\*|https?:/);
  t.regex(policy, /default-src 'none'/);
  t.regex(policy, /script-src 'self'(?:;|$)/);
  t.regex(policy, /connect-src 'self'(?:;|$)/);
});

test('without the built reference, the page lists every operation and loads nothing', (t) => {
  const table = new OperationTable([
    declare({
      name: 'things.read',
      method: 'GET',
      path: '/things',
      title: 'Read <things>',
      access: anyone(),
      output: z.string(),
      handle: () => '',
    }),
  ]);
  const text = documentsPage(operationList(table));
  t.true(text.includes('/things'));
  t.true(text.includes('Read &lt;things>'));
  t.notRegex(text, /<(?:script|link|img)\b/);
});
