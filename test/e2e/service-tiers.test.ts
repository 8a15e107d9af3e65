// Service tiers, speeds and places of the vendor are booked at their own price, or refused by name where no price is known.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { booksOf, openAiAt, startVendor } from '../support/clients/direct-calls.js';
import { ownerView } from '../support/database/owner-view.js';
import type { TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { AnthropicServer } from '../support/servers/vendors/anthropic-server.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const server = new OpenAiServer();
const anthropic = new AnthropicServer();
const folder = mkdtempSync(join(tmpdir(), 'troupe-tiers-'));
const file = join(folder, 'models.json');
const rates = (input_per_mtok: number) => ({ input_per_mtok, output_per_mtok: input_per_mtok * 4 });
const priced = {
  id: 'openai.priced',
  vendor: 'openai',
  tier: 'economical',
  context_window: 100_000,
  max_output_tokens: 1_000,
  capabilities: ['tools', 'temperature'],
  price: { ...rates(10), service_tiers: { flex: rates(5), priority: rates(20) } },
};
const quick = {
  ...priced,
  id: 'anthropic.quick',
  vendor: 'anthropic',
  price: { ...rates(10), service_tiers: { fast: rates(60), us: rates(11) } },
};
writeFileSync(file, JSON.stringify({ models: [priced, quick] }));
test.after.always('remove the models file', () => rmSync(folder, { recursive: true }));
test.serial.beforeEach('the vendors forget', () => [server, anthropic].forEach((each) => each.forget()));
const shared = sharedNode(test, async (atEnd) => {
  for (const vendor of [server, anthropic]) await startVendor(atEnd, vendor);
  return {
    environment: {
      ...openAiAt(server),
      ANTHROPIC_API_KEY: 'sk-ant-platform',
      ANTHROPIC_BASE_URL: anthropic.baseUrl,
      TROUPE_MODELS_FILE: file,
    },
  };
});

const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };

/** The vendor's answer, whole or as a stream, with the tier that served it. */
function answered(service_tier: string | undefined, stream: boolean): string {
  const head = { id: 'x', created: 1, model: 'priced', ...(service_tier !== undefined && { service_tier }) };
  if (!stream) {
    const message = { role: 'assistant', content: 'Hi' };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    return JSON.stringify({ ...head, object: 'chat.completion', choices, usage });
  }
  const chunk = (choices: readonly object[], more: object = {}): string =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
  return [
    chunk([{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: null }]),
    chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
    chunk([], { usage }),
    'data: [DONE]\n\n',
  ].join('');
}

/** The costs of the tenant's calls, in their order. */
async function costsOf({ databaseUrl, bootstrap }: TenantNode): Promise<readonly number[]> {
  const owner = await ownerView(databaseUrl);
  try {
    const { rows } = await owner.query<{ cost: string }>(
      'select cost from usage_rows where tenant_id = $1 order by opened_at',
      [bootstrap.tenant_id],
    );
    return rows.map(({ cost }) => Number(cost));
  } finally {
    await owner.end();
  }
}

test.serial('the tier that the vendor reports decides the price', async (t) => {
  const node = await shared.tenant(t);
  const expected: number[] = [];
  for (const [asked, told, perMillion] of [
    ['flex', 'flex', 5],
    ['priority', 'priority', 20],
    // The vendor had no room in the tier.
    ['priority', 'default', 10],
    [undefined, undefined, 10],
  ] as const) {
    for (const stream of [false, true]) {
      server.script({ garbage: answered(told, stream) });
      const body = {
        model: 'openai.priced',
        stream,
        messages: [{ role: 'user', content: `${asked} ${told} ${stream}` }],
        ...(asked !== undefined && { service_tier: asked }),
      };
      const { status, text } = await node.client.call('POST', '/v1/chat/completions', {
        key: node.bootstrap.api_key,
        body,
      });
      t.is(status, 200, text);
      t.is(server.requests.at(-1)?.body['service_tier'], asked);
      expected.push((1_000 * perMillion + 100 * perMillion * 4) / 1e6);
    }
  }
  t.deepEqual(await costsOf(node), expected);
});

test.serial('a tier without a price is refused by name before anything is spent', async (t) => {
  const node = await shared.tenant(t);
  const before = server.requests.length;
  for (const service_tier of ['priority', 'scale', 7]) {
    const body = { model: 'gpt-4.1-mini', service_tier, messages: [{ role: 'user', content: 'x' }] };
    const { status, json } = await node.client.call('POST', '/v1/chat/completions', {
      key: node.bootstrap.api_key,
      body,
    });
    t.is(status, 400);
    t.is(json.error.param, 'service_tier', JSON.stringify(json));
  }
  t.is(server.requests.length, before);
  t.deepEqual((await booksOf(node)).rows, []);
});

/** Anthropic's answer, whole or as a stream, with the speed and the place of which it told. */
function messageAnswered(told: object, stream: boolean): string {
  const used = { input_tokens: 1_000, output_tokens: 100, service_tier: 'standard', ...told };
  const head = { id: 'msg_x', type: 'message', role: 'assistant', model: 'quick', stop_sequence: null };
  const text = { type: 'text', text: 'Hi' };
  if (!stream) return JSON.stringify({ ...head, content: [text], stop_reason: 'end_turn', usage: used });
  const message = { ...head, content: [], stop_reason: null, usage: { ...used, output_tokens: 1 } };
  return [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: text },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 100 } },
    { type: 'message_stop' },
  ]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');
}

function message(node: TenantNode, fields: Readonly<Record<string, unknown>>) {
  const body = { max_tokens: 200, messages: [{ role: 'user', content: JSON.stringify(fields) }], ...fields };
  return node.client.call('POST', '/v1/messages', { key: node.bootstrap.api_key, body });
}

test.serial('the speed and the place that Anthropic reports decide the price', async (t) => {
  const node = await shared.tenant(t);
  const expected: number[] = [];
  for (const [asked, told, perMillion] of [
    [{ speed: 'fast' }, { speed: 'fast', inference_geo: 'global' }, 60],
    // The vendor had no room for it.
    [{ speed: 'fast' }, { speed: 'standard', inference_geo: 'global' }, 10],
    [{ inference_geo: 'us' }, { speed: 'standard', inference_geo: 'us' }, 11],
    [{ speed: 'standard', inference_geo: 'global' }, { speed: 'standard', inference_geo: 'global' }, 10],
    [{ speed: null, inference_geo: null }, {}, 10],
  ] as const) {
    for (const stream of [false, true]) {
      anthropic.script({ garbage: messageAnswered(told, stream) });
      const { status, text } = await message(node, { model: 'anthropic.quick', stream, ...asked });
      t.is(status, 200, text);
      t.like(anthropic.requests.at(-1)?.body, asked);
      expected.push((1_000 * perMillion + 100 * perMillion * 4) / 1e6);
    }
  }
  t.deepEqual(await costsOf(node), expected);
});

test.serial('a speed or a place without a price is refused by name before anything is spent', async (t) => {
  const node = await shared.tenant(t);
  for (const [field, asked] of [
    ['speed', { model: 'claude-haiku-4-5', speed: 'fast' }],
    ['speed', { model: 'claude-haiku-4-5', speed: 7 }],
    ['speed', { model: 'anthropic.quick', speed: 'faster' }],
    ['inference_geo', { model: 'claude-haiku-4-5', inference_geo: 'us' }],
    ['inference_geo', { model: 'anthropic.quick', inference_geo: 'eu' }],
    // The vendor charges both surcharges, and each price holds one.
    ['inference_geo', { model: 'anthropic.quick', speed: 'fast', inference_geo: 'us' }],
  ] as const) {
    const { status, json } = await message(node, asked);
    t.is(status, 400, JSON.stringify(json));
    t.is(json.error.type, 'invalid_request_error');
    t.regex(json.error.message, new RegExp(`^${field}: the model .* has no price`));
  }
  t.is(anthropic.requests.length, 0);
  t.deepEqual((await booksOf(node)).rows, []);
});
