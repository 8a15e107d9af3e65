import OpenAI, { toFile } from 'openai';

void toFile;
const model = 'gpt-4.1-mini';
const reasoning = 'gpt-5-mini';
const hello = [{ role: 'user', content: 'say hello' }];
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const pdf = Buffer.from('%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n').toString('base64');
const weather = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const tool = {
  type: 'function',
  function: { name: 'get_weather', description: 'Weather', parameters: weather },
};

/** Each field of chat completions, alone, so that a lost one shows by its name. */
const requests = {
  plain: { messages: hello },
  'several messages': {
    messages: [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
      { role: 'user', content: 'three' },
    ],
  },
  'parts of text': {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ],
  },
  temperature: { messages: hello, temperature: 0.3 },
  top_p: { messages: hello, top_p: 0.4 },
  max_tokens: { messages: hello, max_tokens: 50 },
  max_completion_tokens: { messages: hello, max_completion_tokens: 50 },
  stop: { messages: hello, stop: ['END', 'STOP'] },
  seed: { messages: hello, seed: 7 },
  presence_penalty: { messages: hello, presence_penalty: 0.5 },
  frequency_penalty: { messages: hello, frequency_penalty: -0.5 },
  logit_bias: { messages: hello, logit_bias: { 50256: -100 } },
  logprobs: { messages: hello, logprobs: true, top_logprobs: 2 },
  user: { messages: hello, user: 'user-1' },
  metadata: { messages: hello, metadata: { purpose: 'test' }, store: true },
  service_tier: { messages: hello, service_tier: 'flex' },
  prediction: { messages: hello, prediction: { type: 'content', content: 'hello there' } },
  verbosity: { messages: hello, verbosity: 'low', model: reasoning },
  reasoning_effort: { messages: hello, reasoning_effort: 'low', model: reasoning },
  prompt_cache_key: { messages: hello, prompt_cache_key: 'tenant-1' },
  'a field of tomorrow': { messages: hello, a_field_of_tomorrow: { deep: [1, 2] } },
  tools: { messages: hello, tools: [tool] },
  'strict tools': {
    messages: hello,
    tools: [{ ...tool, function: { ...tool.function, strict: true } }],
  },
  'tool_choice by name': {
    messages: hello,
    tools: [tool],
    tool_choice: { type: 'function', function: { name: 'get_weather' } },
  },
  'tool_choice required': { messages: hello, tools: [tool], tool_choice: 'required' },
  parallel_tool_calls: { messages: hello, tools: [tool], parallel_tool_calls: false },
  'results of tools': {
    messages: [
      ...hello,
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
    ],
    tools: [tool],
  },
  'JSON object': { messages: hello, response_format: { type: 'json_object' } },
  'JSON schema': {
    messages: hello,
    response_format: { type: 'json_schema', json_schema: { name: 'place', schema: weather } },
  },
  'strict JSON schema': {
    messages: hello,
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'place', description: 'A place', strict: true, schema: weather },
    },
  },
  'image by address': {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'what is it' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
        ],
      },
    ],
  },
  'image as data': {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'what is it' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
        ],
      },
    ],
  },
  'PDF as data': {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'read it' },
          { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` } },
        ],
      },
    ],
  },
};

function clientOf({ baseUrl, key }) {
  return new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey: key, maxRetries: 0 });
}

export const openaiCases = Object.entries(requests).flatMap(([feature, request]) =>
  [false, true].map((stream) => ({
    client: 'openai',
    vendor: 'openai',
    feature,
    stream,
    run: async (at) => {
      const answer = await clientOf(at).chat.completions.create({ model, ...request, stream });
      if (!stream) return answer.choices[0]?.message;
      let text = '';
      for await (const chunk of answer) text += chunk.choices[0]?.delta.content ?? '';
      return { content: text };
    },
  })),
);
