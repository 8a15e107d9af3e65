import test from 'ava';
import { publishAgent } from '../support/builders/published-agents.js';
import { clients, recordingVendors } from '../support/servers/vendors/recording-vendors.js';
import { sse } from '../support/servers/vendors/vendor-server.js';

const { shared, messages: vendor } = recordingVendors(test);

const model = 'anthropic.claude-sonnet-4-5';
const question = [{ role: 'user' as const, content: 'Hello' }];
const usage = {
  input_tokens: 1_000,
  output_tokens: 1,
  cache_read_input_tokens: 10_000,
  cache_creation_input_tokens: 3_000,
  cache_creation: { ephemeral_5m_input_tokens: 2_000, ephemeral_1h_input_tokens: 1_000 },
};
const reply = { id: 'm', type: 'message', role: 'assistant', stop_reason: 'end_turn', usage };
const text = { type: 'text', text: 'Hello' };
const streamed = [
  { type: 'message_start', message: { ...reply, content: [] } },
  { type: 'content_block_start', index: 0, content_block: text },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
  { type: 'message_stop' },
];

test.serial(
  "an agent's prompt is marked, and reads and writes of the cache are booked and shown",
  async (t) => {
    const node = await shared.tenant(t);
    const { access_token: token, tenant_id: tenant, api_key: key } = node.bootstrap;
    vendor.decide = ({ body }) => ({
      garbage:
        body['stream'] === true
          ? streamed.map((event) => sse(event, event.type)).join('')
          : JSON.stringify({ ...reply, content: [text] }),
    });
    const agent = await publishAgent(node.client, node.bootstrap, { model });
    const path = `/api/v2/agents/${agent}/stream`;
    const turn = await node.client.call('POST', path, { key, body: { message: 'Hello' } });
    t.is(turn.status, 200, turn.text);
    t.like(vendor.requests.at(-1)?.body['system'], [{ cache_control: { type: 'ephemeral' } }]);
    const wish = { model, max_tokens: 10, messages: question };
    const whole = await clients.anthropic(node).messages.create(wish);
    t.like(whole.usage, usage);
    const last = await clients.anthropic(node).messages.stream(wish).finalMessage();
    t.like(last.usage, { cache_read_input_tokens: 10_000, cache_creation_input_tokens: 3_000 });
    const completion = await clients.openai(node).chat.completions.create({ model, messages: question });
    t.is(completion.usage?.prompt_tokens, 14_000);
    t.like(completion.usage?.prompt_tokens_details, { cached_tokens: 10_000, cache_write_tokens: 3_000 });
    const log = await node.client.call('GET', '/api/telemetry/logs', { token, tenant });
    t.is(log.json.data.length, 4);
    for (const row of log.json.data) {
      // 1,000 at $3, 10,000 at $0.30, 2,000 at $3.75 and 1,000 at $6 a million; one token of output at $15.
      const shown = { input_tokens: 14_000, cached_tokens: 10_000, cache_creation_tokens: 3_000 };
      t.like(row, { ...shown, cost: 0.019515 });
    }
  },
);
