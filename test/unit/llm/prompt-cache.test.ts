import test from 'ava';
import { adaptersByVendor, costOf, type LlmRequest } from '../../../src/llm/index.js';
import { markedForCache } from '../../../src/llm/prompt-cache.js';
import { catalogue } from '../../support/servers/vendors/call-harness.js';

const adapters = adaptersByVendor([]);
const ephemeral = { type: 'ephemeral' };

function sent(id: string, request: Partial<LlmRequest>): Record<string, unknown> {
  const model = catalogue.byId(id);
  const adapter = adapters.get(model?.vendor ?? '');
  if (model === undefined || adapter === undefined) throw new Error(id);
  const whole = { messages: conversation, tools, stream: false, cachePrompt: true, ...request };
  return JSON.parse(adapter.toRequest(markedForCache(whole, model), model).body) as Record<string, unknown>;
}

const conversation: LlmRequest['messages'] = [
  { role: 'system', content: 'Be brief.' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Weather?' },
      { type: 'context', text: '{}' },
    ],
  },
];
const tools: NonNullable<LlmRequest['tools']> = [
  { name: 'a', parameters: { type: 'object' } },
  { name: 'b', parameters: { type: 'object' } },
];

test('tools, system prompt and a conversation that goes on are marked where the vendor takes marks', (t) => {
  const body = sent('anthropic.claude-sonnet-4-5', {});
  t.deepEqual(body['system'], [{ type: 'text', text: 'Be brief.', cache_control: ephemeral }]);
  t.deepEqual(
    (body['tools'] as { cache_control?: object }[]).map((tool) => tool.cache_control),
    [undefined, ephemeral],
  );
  t.deepEqual(body['messages'], [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Weather?', cache_control: ephemeral },
        { type: 'text', text: '{}' },
      ],
    },
  ]);
  const openrouter = JSON.stringify(sent('openrouter.anthropic/claude-sonnet-4.5', {}));
  t.is(openrouter.split('cache_control').length, 4);
});

test('the results of tools are marked in the next round, and no earlier round is', (t) => {
  const body = sent('anthropic.claude-sonnet-4-5', {
    messages: [
      ...conversation,
      { role: 'assistant', content: [{ type: 'tool_call', id: 'c', name: 'a', arguments: '{}' }] },
      { role: 'tool', callId: 'c', name: 'a', content: [{ type: 'text', text: 'sunny' }] },
    ],
  });
  const messages = body['messages'] as { content: { cache_control?: object }[] }[];
  t.deepEqual(
    messages.map(({ content }) => content.some((part) => part.cache_control !== undefined)),
    [false, false, true],
  );
});

test('nothing is marked elsewhere, without the wish, or for a single question', (t) => {
  for (const id of ['openai.gpt-4.1', 'google.gemini-2.5-flash', 'openrouter.openai/gpt-5', 'xai.grok-4']) {
    t.false(JSON.stringify(sent(id, {})).includes('cache_control'), id);
  }
  const id = 'anthropic.claude-sonnet-4-5';
  t.false(JSON.stringify(sent(id, { cachePrompt: false })).includes('cache_control'));
  t.false(JSON.stringify(sent(id, { tools: [] })['messages']).includes('cache_control'));
});

test('reads and writes of a cache have their own prices', (t) => {
  const price = catalogue.byId('anthropic.claude-sonnet-4-5')?.price;
  const adapter = adapters.get('anthropic');
  const items: Parameters<NonNullable<typeof adapter>['fromReply']>[1] = [];
  adapter?.fromReply(
    {
      content: [],
      usage: {
        input_tokens: 1_000,
        output_tokens: 0,
        cache_read_input_tokens: 10_000,
        cache_creation_input_tokens: 3_000,
        cache_creation: { ephemeral_5m_input_tokens: 2_000, ephemeral_1h_input_tokens: 1_000 },
      },
    },
    items,
  );
  const usage = items.find((item) => item.type === 'usage')?.usage;
  if (price === undefined || usage === undefined) return t.fail();
  // 1,000 at $3, 10,000 at $0.30, 2,000 at $3.75 and 1,000 at $6 a million.
  t.is(costOf(usage, price), 0.003 + 0.003 + 0.0075 + 0.006);
});
