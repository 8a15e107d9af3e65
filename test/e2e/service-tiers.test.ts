// A service tier of the vendor is booked at its own price, or refused by name where no price is known.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { booksOf, sharedNodeWithOpenAi } from '../support/clients/direct-calls.js';
import { ownerView } from '../support/database/owner-view.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const server = new OpenAiServer();
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
writeFileSync(file, JSON.stringify({ models: [priced] }));
test.after.always('remove the models file', () => rmSync(folder, { recursive: true }));
const shared = sharedNodeWithOpenAi(test, server, { TROUPE_MODELS_FILE: file });

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

test.serial('the tier that the vendor reports decides the price', async (t) => {
  const node = await shared.tenant(t);
  const owner = await ownerView(node.databaseUrl);
  t.teardown(() => owner.end());
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
  const { rows } = await owner.query<{ cost: string }>(
    'select cost from usage_rows where tenant_id = $1 order by opened_at',
    [node.bootstrap.tenant_id],
  );
  t.deepEqual(
    rows.map(({ cost }) => Number(cost)),
    expected,
  );
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
