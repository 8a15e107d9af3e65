import { randomUUID } from 'node:crypto';
import test from 'ava';
import { z } from 'zod';
import { type Operation, spelled } from '../../src/http/operations/index.js';
import { operatorToken, startTestNode, type TestNode } from '../support/servers/node.js';
import { makeTenant, signInAgain, type TestTenant } from '../support/builders/tenants.js';

const unknown = 'zzz_unknown';

/**
 * Bodies and queries with rules of their own: the stream, model calls, the compatible interfaces, payloads of other
 * systems, and what probes and browsers ask for. The list may only shrink.
 */
const lenient = new Set([
  'agents.stream',
  'executions.stream',
  'llm.public-call',
  'llm.call',
  'compat.chat-completions',
  'compat.messages',
  'compat.models',
  'compat.model',
  'compat.count-tokens',
  'compat.response',
  'compat.response-delete',
  // Their own rules refuse what they do not know, or name it in a header; `user` and the like are harmless.
  'compat.embeddings',
  'compat.responses',
  'triggers.webhook',
  'triggers.webhook-challenge',
  'triggers.invoke',
  'mcp.request',
]);

test.serial('every management operation refuses unknown names and reports them', async (t) => {
  const node = await startTestNode(t);
  let tenant = await makeTenant(node);
  const page = await publicPage(node, tenant);
  const wrong: string[] = [];
  for (const [index, operation] of node.node.table.operations.entries()) {
    if (index % 40 === 39) tenant = await signInAgain(node, tenant);
    node.passMs(61_000);
    if (operation.unknownFields === 'ignore') {
      if (!lenient.has(operation.name) && operation.rate !== 'uncounted')
        wrong.push(`${operation.name} ignores what it does not know`);
      continue;
    }
    if (lenient.has(operation.name)) wrong.push(`${operation.name} is listed as lenient and is not`);
    const caller = { tenant, page };
    if (operation.query !== undefined) wrong.push(...(await parameterRefused(node, caller, operation)));
    if (operation.body !== undefined) wrong.push(...(await fieldRefused(node, caller, operation)));
  }
  t.deepEqual(wrong, []);
});

interface TestCaller {
  readonly tenant: TestTenant;
  readonly page: PublicPage;
}

interface PublicPage {
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A public key of the tenant, and what a visitor of its page sends. */
async function publicPage({ client }: TestNode, { tenantId, users }: TestTenant): Promise<PublicPage> {
  const owner = { token: users.owner.token, tenant: tenantId };
  const { json: agent } = await client.call('POST', '/api/agents', { ...owner, body: { name: 'page' } });
  const origin = 'https://shop.example';
  const body = { name: 'page', origins: [origin], agent_ids: [agent.data.id] };
  const { json: made } = await client.call('POST', '/api/keys', { ...owner, body });
  const key = String(made.data.api_key);
  const visited = await client.call('POST', `/api/v1/chat/${key}/visitors`, { headers: { origin } });
  return { key, headers: { origin, 'x-visitor-secret': visited.json.data.secret } };
}

/** Parameters whose absence has a code of its own, which comes first. */
const needed: Readonly<Record<string, string>> = {
  'telemetry.metrics': '&start_date=2026-11-01&end_date=2026-11-02',
};

async function parameterRefused(node: TestNode, caller: TestCaller, operation: Operation): Promise<string[]> {
  const names = operation.query instanceof z.ZodObject ? Object.keys(operation.query.shape) : [];
  const mistyped = `${names.find((name) => name.length > 3) ?? ''}s`;
  const { status, json } = await node.client.call(
    operation.method,
    `${pathOf(operation, caller)}?${mistyped}=1${needed[operation.name] ?? ''}`,
    { ...credentialOf(caller, operation), ...(takesBody(operation) ? { body: {} } : {}) },
  );
  return problems(operation, status, json, spelled('unknown_parameter', operation.dialect), mistyped);
}

async function fieldRefused(node: TestNode, caller: TestCaller, operation: Operation): Promise<string[]> {
  const { status, json } = await node.client.call(operation.method, pathOf(operation, caller), {
    ...credentialOf(caller, operation),
    body: { [unknown]: 1 },
  });
  return problems(operation, status, json, spelled('unknown_field', operation.dialect));
}

function problems(
  { name, dialect }: Operation,
  status: number,
  json: {
    error?: string | { code: string; message: string };
    message?: string;
    details?: { field?: string };
  },
  wanted: string,
  named = unknown,
): string[] {
  const { error, details } = json ?? {};
  const code = typeof error === 'object' ? error.code : error;
  const message = typeof error === 'object' ? error.message : json?.message;
  const isNamed = dialect === 'telemetry' || details?.field === named;
  if (status === 400 && code === wanted && isNamed && message?.startsWith(named) === true) return [];
  return [`${name}: ${status} ${JSON.stringify(json)}`];
}

function takesBody({ method }: Operation): boolean {
  return method !== 'GET' && method !== 'DELETE';
}

function credentialOf({ tenant, page }: TestCaller, { access, path }: Operation) {
  if (path.includes(':publicKey')) return { headers: page.headers };
  if (access.credentials.has('operator')) return { token: operatorToken };
  if (access.credentials.has('user')) {
    const named = access.tenant.from === 'none' ? {} : { tenant: tenant.tenantId };
    return { token: tenant.users.owner.token, ...named };
  }
  return access.credentials.has('key') ? { key: tenant.keys.owner } : {};
}

/** An id of the right form, of something that does not exist. */
function idOf(parameter: string): string {
  if (parameter === 'kind') return 'usage';
  return parameter === 'version' ? '1' : randomUUID();
}

function pathOf({ path, access }: Operation, { tenant, page }: TestCaller): string {
  return path.replaceAll(/:([^/]+)/g, (_, name: string) => {
    if (name === 'publicKey') return page.key;
    return access.tenant.from === 'path' && access.tenant.parameter === name ? tenant.tenantId : idOf(name);
  });
}

test.serial(
  'fields, enumerations, settings of triggers and models come with the nearest known name',
  async (t) => {
    const node = await startTestNode(t);
    const tenant = await makeTenant(node);
    const owner = { token: tenant.users.owner.token, tenant: tenant.tenantId };
    const call = (method: string, path: string, body?: unknown, headers = {}) =>
      node.client.call(method, path, { ...owner, ...(body === undefined ? {} : { body }), headers });
    const refused = async (
      method: string,
      path: string,
      body: unknown,
      [field, issue]: readonly [string, RegExp],
    ): Promise<void> => {
      const { status, json, text } = await call(method, path, body);
      t.is(status, 400, text);
      t.is(json.details.field, field, text);
      t.regex(json.message, issue, text);
    };

    const { json: made } = await call('POST', '/api/agents', { name: 'mistyped' });
    const agent = `/api/agents/${made.data.id}`;
    await refused('PATCH', agent, { llm_config: { temprature: 1 } }, [
      'llm_config.temprature',
      /"temperature"/,
    ]);
    await refused('PATCH', agent, { tag: [] }, ['tag', /"tags"/]);
    t.is((await call('PATCH', agent, { metadata: { any: { thing: 1 } } })).status, 200);
    const { json: read } = await call('GET', agent);
    t.is((await call('PATCH', agent, read.data)).status, 200, 'what was read can be sent back');

    const trigger = (changes: object, config: object) => ({
      agent_id: made.data.id,
      name: 'mistyped',
      trigger_type: 'webhook',
      trigger_config: config,
      ...changes,
    });
    await refused('POST', '/api/triggers', trigger({ trigger_type: 'webhok' }, {}), [
      'trigger_type',
      /"webhook"/,
    ]);
    await refused('POST', '/api/triggers', trigger({}, { excution: {} }), [
      'trigger_config.excution',
      /"execution"/,
    ]);
    await refused('POST', '/api/triggers', trigger({}, { auth: { typ: 'none' } }), [
      'trigger_config.auth.typ',
      /"type"/,
    ]);
    await refused(
      'POST',
      '/api/triggers',
      trigger({}, { execution: { callback: { url: 'https://x.example/', metod: 'PUT' } } }),
      ['trigger_config.execution.callback.metod', /"method"/],
    );
    await refused(
      'POST',
      '/api/triggers',
      trigger({ trigger_type: 'schedule' }, { corn: '* * * * *', message: 'x' }),
      ['trigger_config.corn', /"cron"/],
    );
    await refused('POST', '/api/triggers', trigger({}, { response_adapter: { format: 'slak' } }), [
      'trigger_config.response_adapter.format',
      /"slack"/,
    ]);
    await refused('GET', '/api/agents?statu=draft', undefined, ['statu', /"status"/]);

    const inSnakeCase = await call('POST', '/api/keys', {
      name: 'snake',
      rate_limit_per_minute: 7,
      expires_in_days: 1,
    });
    t.is(inSnakeCase.status, 201, inSnakeCase.text);
    t.is(inSnakeCase.json.data.rate_limit_per_minute, 7);
    t.truthy(inSnakeCase.json.data.expires_at);
    const rpm = await call('PATCH', `/api/keys/${inSnakeCase.json.data.id}/rpm`, {
      rate_limit_per_minute: 5,
    });
    t.is(rpm.json.data?.new_rpm, 5, rpm.text);
    await refused('PATCH', `/api/keys/${inSnakeCase.json.data.id}/rpm`, {}, [
      'rateLimitPerMinute',
      /is required/,
    ]);

    // Models: the closest ones that this tenant can call, wherever a model is named.
    const key = { key: tenant.keys.owner };
    const asked = { messages: [{ role: 'user', content: 'hi' }] };
    const native = await node.client.call('POST', '/api/v3/llm/public/call', {
      ...key,
      body: { query: 'hi', model: 'sim.ecko' },
    });
    t.regex(native.json.message, /There is no model sim\.ecko\. Did you mean "sim\.echo"/);
    const elsewhere = await node.client.call('POST', '/api/v3/llm/public/call', {
      ...key,
      body: { query: 'hi', model: 'sim.echo', provider: 'xai' },
    });
    t.is(elsewhere.json.error, 'invalid_model', elsewhere.text);
    t.is(
      elsewhere.json.message,
      'The provider xai has no model sim.echo: it is one of sim. Leave the provider out.',
    );
    const chat = await node.client.call('POST', '/v1/chat/completions', {
      ...key,
      body: { model: 'sim.ehco', ...asked },
    });
    t.like(chat.json.error, { type: 'invalid_request_error', param: 'model', code: 'invalid_model' });
    t.regex(chat.json.error.message, /Did you mean "sim\.echo"/);
    const message = await node.client.call('POST', '/v1/messages', {
      ...key,
      body: { model: 'echoo', max_tokens: 5, ...asked },
    });
    t.is(message.json.type, 'error');
    t.regex(message.json.error.message, /Did you mean "sim\.echo"/);
    const foreign = await node.client.call('POST', '/v1/chat/completions', {
      ...key,
      body: { model: 'openai.gpt-4.1-mni', ...asked },
    });
    t.notRegex(foreign.json.error.message, /"openai\./, 'no vendor key: none of its models is suggested');
    t.is((await call('PATCH', agent, { llm_config: { model: 'sim.ecko' } })).status, 200);
    await refused('POST', `${agent}/publish`, {}, [
      'llm_config.model',
      /sim\.ecko does not exist\. Did you mean "sim\.echo"/,
    ]);
  },
);

test.serial('unknown fields of a vendor client are ignored', async (t) => {
  const node = await startTestNode(t);
  const { keys } = await makeTenant(node);
  const body = { model: 'sim.echo', messages: [{ role: 'user', content: 'hi' }], surprise: 1 };
  for (const [path, more] of [
    ['/v1/chat/completions?beta=true', {}],
    ['/v1/chat/completions?nul=%00', {}],
    ['/v1/messages?beta=true', { max_tokens: 10 }],
  ] as const) {
    const { status, text } = await node.client.call('POST', path, {
      key: keys.owner,
      body: { ...body, ...more },
    });
    t.is(status, 200, text);
  }
  const native = await node.client.call('POST', '/api/v3/llm/public/call?x=1', {
    key: keys.owner,
    body: { query: 'hi', model: 'sim.echo', surprise: 1 },
  });
  t.is(native.status, 200, native.text);
});
