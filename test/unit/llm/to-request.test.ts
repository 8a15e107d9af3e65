import test from 'ava';
import { toConverseRequest } from '../../../src/llm/clouds/bedrock/to-request.js';
import { adaptersByVendor, type LlmRequest, reservedOutput } from '../../../src/llm/index.js';
import { catalogue } from '../../support/servers/vendors/call-harness.js';

type Json = Record<string, unknown>;

const adapters = adaptersByVendor([]);

function sent(
  modelId: string,
  request: Partial<LlmRequest>,
): { path: string; body: Record<string, unknown> } {
  const model = catalogue.byId(modelId);
  const adapter = adapters.get(model?.vendor ?? '');
  if (model === undefined || adapter === undefined) throw new Error(modelId);
  const whole = { messages: conversation, stream: false, ...request };
  const { path, body } = adapter.toRequest(whole, model);
  return { path, body: JSON.parse(body) as Record<string, unknown> };
}

const conversation: LlmRequest['messages'] = [
  { role: 'system', content: 'Be brief.' },
  {
    role: 'user',
    content: [
      { type: 'context', text: '{"city":"Rome"}' },
      { type: 'text', text: 'Weather here?' },
      { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'QUJD' } },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', text: 'look it up', signature: 'sig' },
      { type: 'text', text: 'One moment.' },
      { type: 'tool_call', id: 'call_1', name: 'weather', arguments: '{"city":"Rome"}' },
      { type: 'tool_call', id: 'call_2', name: 'now', arguments: '' },
    ],
  },
  { role: 'tool', callId: 'call_1', name: 'weather', content: [{ type: 'text', text: '{"c":21}' }] },
  {
    role: 'tool',
    callId: 'call_2',
    name: 'now',
    content: [{ type: 'text', text: 'no clock' }],
    isError: true,
  },
];

const tools: LlmRequest['tools'] = [
  { name: 'weather', description: 'Weather of a city', parameters: { type: 'object', properties: {} } },
];

test('the chat dialect uses the conversation unchanged', (t) => {
  const { path, body } = sent('openai.gpt-4.1', { tools, toolChoice: { name: 'weather' } });
  t.is(path, '/chat/completions');
  t.is(body['model'], 'gpt-4.1');
  t.deepEqual(body['messages'], [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: '{"city":"Rome"}' },
        { type: 'text', text: 'Weather here?' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } },
      ],
    },
    {
      role: 'assistant',
      content: 'One moment.',
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } },
        { id: 'call_2', type: 'function', function: { name: 'now', arguments: '{}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: '{"c":21}' },
    { role: 'tool', tool_call_id: 'call_2', content: 'no clock' },
  ]);
  t.deepEqual(body['tool_choice'], { type: 'function', function: { name: 'weather' } });
  t.is(body['stream'], undefined);
});

test('each chat vendor gets the fields that it knows', (t) => {
  const request = { maxTokens: 50, temperature: 0.3, stream: true, reasoningEffort: 'low' as const };
  const openai = sent('openai.gpt-5-mini', request).body;
  t.is(openai['max_completion_tokens'], 50);
  t.is(openai['max_tokens'], undefined);
  t.is(openai['temperature'], undefined, 'models that reason by themselves refuse a temperature');
  t.is(openai['reasoning_effort'], 'low');
  t.deepEqual(openai['stream_options'], { include_usage: true, include_obfuscation: false });
  t.deepEqual(sent('xai.grok-4.3', request).body['stream_options'], { include_usage: true });
  t.is(sent('openai.gpt-4.1', request).body['temperature'], 0.3);
  t.is(sent('openai.gpt-4.1', request).body['reasoning_effort'], undefined);
  const xai = sent('xai.grok-4.3', request).body;
  t.is(xai['max_tokens'], 50);
  t.is(xai['reasoning_effort'], undefined, 'most of its models refuse the field');
});

test('parts signed by an aggregator return to it unchanged', (t) => {
  const detail = '{"type":"reasoning.text","text":"Hm","index":0,"signature":"EqRB"}';
  const { body } = sent('openrouter.openai/gpt-5', {
    messages: [{ role: 'assistant', content: [{ type: 'thinking', text: '', signature: detail }] }],
  });
  t.deepEqual(body['messages'], [
    { role: 'assistant', content: '', reasoning_details: [JSON.parse(detail)] },
  ]);
});

test('Anthropic gets alternating roles, results as the user, signed thoughts, and a token bound', (t) => {
  const { path, body } = sent('anthropic.claude-sonnet-4-5', { tools, temperature: 1.7, stop: ['END'] });
  t.is(path, '/v1/messages');
  t.is(body['system'], 'Be brief.');
  t.is(body['max_tokens'], 8192);
  t.is(body['temperature'], 1);
  t.deepEqual(body['stop_sequences'], ['END']);
  t.deepEqual(body['messages'], [
    {
      role: 'user',
      content: [
        { type: 'text', text: '{"city":"Rome"}' },
        { type: 'text', text: 'Weather here?' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'look it up', signature: 'sig' },
        { type: 'text', text: 'One moment.' },
        { type: 'tool_use', id: 'call_1', name: 'weather', input: { city: 'Rome' } },
        { type: 'tool_use', id: 'call_2', name: 'now', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'text', text: '{"c":21}' }] },
        {
          type: 'tool_result',
          tool_use_id: 'call_2',
          content: [{ type: 'text', text: 'no clock' }],
          is_error: true,
        },
      ],
    },
  ]);
});

test('Anthropic models think by budget, by effort or always, and are forced to a tool only if they allow it', (t) => {
  const request = { maxTokens: 1000, temperature: 0.2, reasoningEffort: 'medium' as const, tools };
  const budget = sent('anthropic.claude-haiku-4-5', request).body;
  t.deepEqual(budget['thinking'], { type: 'enabled', budget_tokens: 8192 });
  t.is(budget['max_tokens'], 9192);
  t.is(budget['temperature'], undefined);
  const forced = { ...request, toolChoice: 'required' as const };
  for (const id of ['anthropic.claude-opus-5-5', 'anthropic.claude-opus-5', 'anthropic.claude-sonnet-4-6']) {
    const adaptive = sent(id, id.endsWith('4-6') ? request : forced).body;
    t.deepEqual(adaptive['thinking'], { type: 'adaptive' });
    t.deepEqual(adaptive['output_config'], { effort: 'medium' });
    t.is(adaptive['temperature'], undefined, 'refused beside thoughts of any kind');
  }
  t.deepEqual(sent('anthropic.claude-opus-5-5', forced).body['tool_choice'], { type: 'auto' });
  t.deepEqual(sent('anthropic.claude-opus-5', forced).body['tool_choice'], { type: 'any' });
  const off = sent('anthropic.claude-sonnet-5', { reasoningEffort: 'none' }).body;
  t.deepEqual(off['thinking'], { type: 'disabled' });
  t.is(sent('anthropic.claude-opus-5-5', { reasoningEffort: 'none' }).body['thinking'], undefined);
});

test('the bound that is reserved is the one that each vendor gets, with thoughts that are added to it', (t) => {
  const bedrock = 'bedrock-eu.sonnet';
  const like = catalogue.byId('anthropic.claude-sonnet-4-5');
  if (like === undefined) throw new Error('no such model');
  const bedrockModel = { ...like, id: bedrock, vendor: 'bedrock-eu', family: 'bedrock' as const };
  const boundSent = (id: string, request: LlmRequest): unknown => {
    if (id === bedrock) {
      const body = JSON.parse(toConverseRequest('bedrock-eu', request, bedrockModel).body) as Json;
      return (body['inferenceConfig'] as Json)['maxTokens'];
    }
    const { body } = sent(id, request);
    const config = (body['generationConfig'] ?? {}) as Json;
    return body['max_tokens'] ?? body['max_completion_tokens'] ?? config['maxOutputTokens'];
  };
  const asked = (request: Partial<LlmRequest>): LlmRequest => ({
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
    stream: false,
    maxTokens: 500,
    ...request,
  });
  const body = { max_tokens: 500, thinking: { type: 'enabled', budget_tokens: 400 }, messages: [] };
  const wire = { dialect: 'messages' as const, body, headers: {}, fields: [], opaqueBytes: 0 };
  for (const [id, request, bound] of [
    ['anthropic.claude-sonnet-4-5', {}, 500],
    ['anthropic.claude-sonnet-4-5', { reasoningEffort: 'none' }, 500],
    ['anthropic.claude-sonnet-4-5', { reasoningEffort: 'high' }, 25_076],
    ['anthropic.claude-sonnet-4-5', { reasoningEffort: 'high', maxTokens: 60_000 }, 64_000],
    ['anthropic.claude-opus-5-5', { reasoningEffort: 'high' }, 500],
    ['anthropic.claude-sonnet-4-5', { reasoningEffort: 'low', thinkingBudget: 400, wire }, 500],
    [bedrock, {}, 500],
    [bedrock, { reasoningEffort: 'medium' }, 8_692],
    [bedrock, { reasoningEffort: 'low', thinkingBudget: 3_000 }, 3_500],
    ['google.gemini-2.5-flash', { reasoningEffort: 'high' }, 500],
    ['openai.gpt-5', { reasoningEffort: 'high' }, 500],
    ['openrouter.openai/gpt-5', { reasoningEffort: 'high' }, 500],
  ] as const) {
    const model = id === bedrock ? bedrockModel : catalogue.byId(id);
    if (model === undefined) throw new Error(id);
    const what = `${id} ${JSON.stringify(request)}`;
    t.is(boundSent(id, asked(request)), bound, what);
    t.is(reservedOutput(asked(request), model), bound, what);
  }
  // Without a bound of the caller's the reservation stays an assumption.
  const { maxTokens: _none, ...unbound } = asked({ reasoningEffort: 'high' });
  t.is(reservedOutput(unbound, bedrockModel), 1_000);
});

test('Gemini gets contents, a signature for foreign calls if it requires one, and results by name', (t) => {
  const { path, body } = sent('google.gemini-3.1-pro-preview', {
    tools,
    stream: true,
    maxTokens: 9,
    toolChoice: 'required',
  });
  t.is(path, '/v1beta/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse');
  t.deepEqual(body['systemInstruction'], { parts: [{ text: 'Be brief.' }] });
  t.deepEqual(body['contents'], [
    {
      role: 'user',
      parts: [
        { text: '{"city":"Rome"}' },
        { text: 'Weather here?' },
        { inlineData: { mimeType: 'image/png', data: 'QUJD' } },
      ],
    },
    {
      role: 'model',
      parts: [
        { text: 'One moment.' },
        {
          functionCall: { name: 'weather', args: { city: 'Rome' } },
          thoughtSignature: 'skip_thought_signature_validator',
        },
        { functionCall: { name: 'now', args: {} } },
      ],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { name: 'weather', response: { output: { c: 21 } } } },
        { functionResponse: { name: 'now', response: { error: 'no clock' } } },
      ],
    },
  ]);
  t.deepEqual(body['toolConfig'], { functionCallingConfig: { mode: 'ANY' } });
  t.deepEqual(body['generationConfig'], { maxOutputTokens: 9 });
  t.false(JSON.stringify(sent('google.gemini-2.5-flash', {}).body).includes('skip_thought'));
});

test("a JSON answer is requested in each vendor's way", (t) => {
  const responseFormat = { type: 'json_schema' as const, name: 'city', schema: { type: 'object' } };
  t.deepEqual(sent('openai.gpt-4.1', { responseFormat }).body['response_format'], {
    type: 'json_schema',
    json_schema: { name: 'city', schema: { type: 'object' } },
  });
  t.deepEqual(sent('anthropic.claude-haiku-4-5', { responseFormat }).body['output_config'], {
    format: { type: 'json_schema', schema: { type: 'object' } },
  });
  t.deepEqual(sent('google.gemini-2.5-flash', { responseFormat }).body['generationConfig'], {
    responseMimeType: 'application/json',
    responseJsonSchema: { type: 'object' },
  });
});

test("a key is sent in the vendor's header, never in an address", (t) => {
  const header = (vendor: string): unknown => adapters.get(vendor)?.authorization('K');
  t.deepEqual(header('openai'), { authorization: 'Bearer K' });
  t.deepEqual(header('anthropic'), { 'anthropic-version': '2023-06-01', 'x-api-key': 'K' });
  t.deepEqual(header('google'), { 'x-goog-api-key': 'K' });
});
