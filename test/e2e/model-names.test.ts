import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import test from 'ava';
import OpenAI from 'openai';
import { addOwnKey, ask, sharedNodeWithOpenAi } from '../support/clients/direct-calls.js';
import { publishAgent } from '../support/builders/published-agents.js';
import type { TenantNode } from '../support/servers/node.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const server = new OpenAiServer();
const folder = mkdtempSync(join(tmpdir(), 'troupe-models-'));
const modelsFile = join(folder, 'models.json');
writeFileSync(modelsFile, JSON.stringify({ aliases: { house: 'gpt-4.1-nano', best: 'gpt-5' } }));
test.after.always('remove the models file', () => rmSync(folder, { recursive: true }));
const shared = sharedNodeWithOpenAi(test, server, { TROUPE_MODELS_FILE: modelsFile });

const messages = [{ role: 'user' as const, content: 'Hello' }];
const openai = ({ node, bootstrap }: TenantNode): OpenAI =>
  new OpenAI({ apiKey: bootstrap.api_key, baseURL: `${node.baseUrl}/v1`, maxRetries: 0 });
const anthropic = ({ node, bootstrap }: TenantNode): Anthropic =>
  new Anthropic({ apiKey: bootstrap.api_key, baseURL: node.baseUrl, maxRetries: 0 });

function patch(node: TenantNode, model_aliases: unknown) {
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  return node.client.call('PATCH', `/api/tenants/${tenant}`, { token, tenant, body: { model_aliases } });
}

test.serial(
  'both doors and the native call take every spelling, and a dated name reaches the vendor',
  async (t) => {
    const node = await shared.tenant(t);
    const spellings = {
      'gpt-4o': 'gpt-4o',
      'openai/gpt-4o': 'gpt-4o',
      'openai.gpt-4o': 'gpt-4o',
      'gpt-4o-2024-08-06': 'gpt-4o-2024-08-06',
      'openai/gpt-4o-2024-08-06': 'gpt-4o-2024-08-06',
    };
    for (const [model, sent] of Object.entries(spellings)) {
      await openai(node).chat.completions.create({ model, messages });
      await anthropic(node).messages.create({ model, max_tokens: 10, messages });
      const native = await ask(node, { model });
      t.is(native.status, 200, native.text);
      t.is(native.json.model, 'openai.gpt-4o');
      t.deepEqual(
        server.requests.slice(-3).map(({ body }) => body['model']),
        [sent, sent, sent],
      );
    }
  },
);

test.serial(
  "a tenant's own names hold for the doors and the native call, until they are removed",
  async (t) => {
    const node = await shared.tenant(t);
    const aliases = { fast: 'gpt-4.1-mini', 'claude-sonnet-4-5': 'openai.gpt-4o', any: 'auto' };
    const changed = await patch(node, aliases);
    t.is(changed.status, 200, changed.text);
    t.deepEqual(changed.json.data.model_aliases, aliases);
    const whole = await openai(node).chat.completions.create({ model: 'fast', messages });
    t.is(whole.model, 'openai.gpt-4.1-mini');
    const message = await anthropic(node).messages.create({
      model: 'claude-sonnet-4-5',
      max_tokens: 10,
      messages,
    });
    t.is(message.model, 'openai.gpt-4o');
    t.is((await ask(node, { model: 'fast' })).json.model, 'openai.gpt-4.1-mini');
    t.truthy((await ask(node, { model: 'any' })).json.routing);
    const { access_token: token, tenant_id: tenant } = node.bootstrap;
    const named = await node.client.call('PATCH', `/api/tenants/${tenant}`, {
      token,
      tenant,
      body: { name: 'Other' },
    });
    t.deepEqual(named.json.data.model_aliases, aliases, 'a change of the name keeps them');
    t.false('model_aliases' in (await patch(node, null)).json.data);
    t.is((await ask(node, { model: 'fast' })).status, 400);
  },
);

test.serial("the operator's names hold for everybody, and a tenant's own come before them", async (t) => {
  const node = await shared.tenant(t);
  t.is((await ask(node, { model: 'house' })).json.model, 'openai.gpt-4.1-nano');
  await patch(node, { house: 'gpt-4o', mine: 'best' });
  t.is((await ask(node, { model: 'house' })).json.model, 'openai.gpt-4o');
  t.is((await ask(node, { model: 'mine' })).json.model, 'openai.gpt-5');
  const other = await shared.tenant(t);
  t.is((await ask(other, { model: 'house' })).json.model, 'openai.gpt-4.1-nano', 'of that tenant alone');
});

test.serial('aliases are checked: their names, their models, their number', async (t) => {
  const node = await shared.tenant(t);
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`m${at}`, 'auto']));
  for (const aliases of [
    { 'a b': 'auto' },
    { auto: 'gpt-4o' },
    { '': 'auto' },
    { fast: 7 },
    many,
    'fast',
    [],
  ]) {
    const refused = await patch(node, aliases);
    t.is(refused.status, 400, JSON.stringify(aliases).slice(0, 100));
    t.is(refused.json.error, 'validation_error');
  }
  const unknown = await patch(node, { fast: 'gpt-99' });
  t.is(unknown.status, 400);
  t.is(unknown.json.details.field, 'model_aliases.fast');
});

test.serial('an unknown model is answered with the closest three that can be called', async (t) => {
  const node = await shared.tenant(t);
  const near = await t.throwsAsync(openai(node).chat.completions.create({ model: 'gpt-4-turbo', messages }), {
    instanceOf: OpenAI.BadRequestError,
  });
  t.is(near.code, 'invalid_model');
  t.regex(
    near.message,
    /There is no model gpt-4-turbo\. Did you mean "openai\.gpt-4[^"]*", "openai\.[^"]+" or "openai\.[^"]+"\?/,
  );
  // Only what the endpoint takes is meant.
  const embed = await ask(node, { model: 'sim.embe' });
  t.notRegex(embed.json.message, /embed"|text-embedding/);
  const call = (path: string, body: object) =>
    node.client.call('POST', path, { key: node.bootstrap.api_key, body });
  const vectors = await call('/v1/embeddings', { model: 'text-embedding-4', input: 'x' });
  t.regex(vectors.text, /Did you mean \\"openai\.text-embedding-3-/);
  t.notRegex(vectors.text, /gpt|echo|auto/);
  const { text } = await call('/v1/responses', { model: 'sim.embe', input: 'x' });
  t.notRegex(text, /sim\.embed\\"/);
  const far = await ask(node, { model: 'nobody-knows-this' });
  t.is(far.status, 400);
  t.is((/Did you mean (.*)\?/.exec(far.json.message)?.[1] ?? '').split('"').length, 7);
  t.notRegex(far.json.message, /anthropic/, 'there is no key for it');
  await addOwnKey(node, 'anthropic', 'sk-ant-test-0123456789');
  const claude = await ask(node, { model: 'claude-sonnet-3' });
  t.regex(claude.json.message, /"anthropic\.claude-sonnet-4/);
});

test.serial('an agent answers with the model of an alias', async (t) => {
  const node = await shared.tenant(t);
  await patch(node, { fast: 'gpt-4.1-mini-2025-04-14' });
  const agent = await publishAgent(node.client, node.bootstrap, { model: 'fast' });
  const path = `/api/v2/agents/${agent}/stream`;
  const reply = await node.client.call('POST', path, {
    key: node.bootstrap.api_key,
    body: { message: 'Hello' },
  });
  t.is(reply.status, 200, reply.text);
  t.is(server.requests.at(-1)?.body['model'], 'gpt-4.1-mini-2025-04-14');
});
