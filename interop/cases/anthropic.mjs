import Anthropic from '@anthropic-ai/sdk';

const model = 'claude-haiku-4-5';
const hello = [{ role: 'user', content: 'say hello' }];
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const pdf = Buffer.from('%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n').toString('base64');
const tool = {
  name: 'get_weather',
  description: 'Weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const cached = { type: 'ephemeral' };

/** Each field of messages, alone, so that a lost one shows by its name. */
const requests = {
  plain: { messages: hello },
  system: { messages: hello, system: 'be brief' },
  'several messages': {
    messages: [...hello, { role: 'assistant', content: 'hello' }, { role: 'user', content: 'again' }],
  },
  temperature: { messages: hello, temperature: 0.3 },
  top_p: { messages: hello, top_p: 0.4 },
  top_k: { messages: hello, top_k: 40 },
  stop_sequences: { messages: hello, stop_sequences: ['END'] },
  metadata: { messages: hello, metadata: { user_id: 'user-1' } },
  service_tier: { messages: hello, service_tier: 'standard_only' },
  'thinking with an exact budget': {
    messages: hello,
    max_tokens: 4000,
    thinking: { type: 'enabled', budget_tokens: 1024 },
  },
  'cached system prompt': {
    messages: hello,
    system: [{ type: 'text', text: 'a long prompt', cache_control: cached }],
  },
  'cached message': {
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'long', cache_control: { ...cached, ttl: '1h' } }] },
    ],
  },
  'cached tools': { messages: hello, tools: [{ ...tool, cache_control: cached }] },
  tools: { messages: hello, tools: [tool] },
  'tool_choice any': { messages: hello, tools: [tool], tool_choice: { type: 'any' } },
  'tool_choice by name': {
    messages: hello,
    tools: [tool],
    tool_choice: { type: 'tool', name: 'get_weather', disable_parallel_tool_use: true },
  },
  'results of tools': {
    messages: [
      ...hello,
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Rome' } }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'sunny' }] },
    ],
    tools: [tool],
  },
  'image as data': {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
          { type: 'text', text: 'what is it' },
        ],
      },
    ],
  },
  'PDF as data': {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf } },
          { type: 'text', text: 'read it' },
        ],
      },
    ],
  },
  'a field of tomorrow': { messages: hello, a_field_of_tomorrow: { deep: [1, 2] } },
};

function clientOf({ baseUrl, key }) {
  return new Anthropic({ baseURL: baseUrl, apiKey: key, maxRetries: 0 });
}

export const anthropicCases = Object.entries(requests).flatMap(([feature, request]) =>
  [false, true].map((stream) => ({
    client: '@anthropic-ai/sdk',
    vendor: 'anthropic',
    feature,
    stream,
    run: async (at) => {
      const body = { model, max_tokens: 100, ...request };
      const { messages } = clientOf(at);
      return stream ? await messages.stream(body).finalMessage() : await messages.create(body);
    },
  })),
);
