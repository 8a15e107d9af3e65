// The output items of the Responses API, and their way back as input.
import test from 'ava';
import type { LlmEvent } from '../../../../src/llm/index.js';
import { callOf, fromResponsesRequest, ResponseFrames } from '../../../../src/models/compat/index.js';

const origin = { vendor: 'anthropic', model: 'anthropic.claude-haiku-4-5', credentialId: 'key' };

function framesFor(body: object): ResponseFrames {
  const { given } = fromResponsesRequest({ model: origin.model, input: 'x', ...body });
  const head = { id: 'resp_1', createdSeconds: 1, model: origin.model };
  return new ResponseFrames({ given, head, origin, itemIds: 'abc', nowSeconds: () => 2 });
}

function typesOf(text: string): string[] {
  return [...text.matchAll(/^event: (.*)$/gm)].map(([, type = '']) => type);
}

const thoughtful: readonly LlmEvent[] = [
  { type: 'thinking', text: 'hm' },
  { type: 'thinking', text: 'm' },
  { type: 'thinking_end', signature: 'signed' },
  { type: 'redacted_thinking', data: 'secret thought' },
  { type: 'content', text: 'Yes' },
  { type: 'tool_call_start', index: 0, id: 'a', name: 'f' },
  { type: 'tool_call_start', index: 1, id: 'b', name: 'g' },
  { type: 'tool_call_arguments', index: 1, text: '{}' },
  { type: 'tool_call_arguments', index: 0, text: '{"n":1}' },
  { type: 'stop', reason: 'tool_calls', raw: 'tool_use' },
];

test('thoughts, text and interleaved calls are items in the order of their beginning', (t) => {
  const frames = framesFor({});
  const text = frames.write(thoughtful) + frames.end();
  t.deepEqual(typesOf(text).slice(2, 8), [
    'response.output_item.added',
    'response.reasoning_summary_part.added',
    'response.reasoning_summary_text.delta',
    'response.reasoning_summary_text.delta',
    'response.reasoning_summary_text.done',
    'response.reasoning_summary_part.done',
  ]);
  const { output, status } = frames.response;
  t.is(status, 'completed');
  t.deepEqual(
    output.map(({ id, type }) => [id, type]),
    [
      ['rs_abc0000', 'reasoning'],
      ['rs_abc0001', 'reasoning'],
      ['msg_abc0002', 'message'],
      ['fc_abc0003', 'function_call'],
      ['fc_abc0004', 'function_call'],
    ],
  );
  t.deepEqual(output[0], {
    id: 'rs_abc0000',
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: 'hmm' }],
  });
  t.like(output[3], { call_id: 'a', arguments: '{"n":1}' });
  t.like(output[4], { call_id: 'b', arguments: '{}' });
  const added = typesOf(text).filter((type) => type === 'response.output_item.added').length;
  t.is(added, typesOf(text).filter((type) => type === 'response.output_item.done').length);
});

test('signed thoughts that left packed come back to their maker', (t) => {
  const frames = framesFor({ include: ['reasoning.encrypted_content'] });
  frames.write(thoughtful);
  const outputs = ['a', 'b'].map((call_id) => ({ type: 'function_call_output', call_id, output: 'x' }));
  const input = [...frames.response.output, ...outputs];
  const { request } = callOf(fromResponsesRequest({ model: origin.model, input }), []);
  t.deepEqual(request.messages[0], {
    role: 'assistant',
    content: [
      { type: 'thinking', text: 'hmm', signature: 'signed', origin },
      { type: 'redacted_thinking', data: 'secret thought', origin },
      { type: 'text', text: 'Yes' },
      { type: 'tool_call', id: 'a', name: 'f', arguments: '{"n":1}' },
      { type: 'tool_call', id: 'b', name: 'g', arguments: '{}' },
    ],
  });
  const foreign = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'of another service' };
  const other = callOf(
    fromResponsesRequest({ model: origin.model, input: [foreign, { role: 'user', content: 'x' }] }),
    [],
  );
  t.deepEqual(other.request.messages, [{ role: 'user', content: [{ type: 'text', text: 'x' }] }]);
});

test("a refusal is a part of its own, with OpenAI's events", (t) => {
  const frames = framesFor({});
  const events: readonly LlmEvent[] = [
    { type: 'content', text: 'Well' },
    { type: 'content', text: 'I will ', refusal: true },
    { type: 'content', text: 'not.', refusal: true },
    { type: 'stop', reason: 'refusal', raw: 'stop' },
  ];
  const text = frames.write(events) + frames.end();
  t.deepEqual(typesOf(text).slice(2), [
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.content_part.added',
    'response.refusal.delta',
    'response.refusal.delta',
    'response.refusal.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ]);
  const item = 'item_id":"msg_abc0000","output_index":0,"content_index"';
  t.true(text.includes(`"${item}:0,"text":"Well","logprobs":[]}`), text);
  t.true(text.includes(`"${item}:1,"delta":"not."}`), text);
  t.true(text.includes(`"${item}:1,"refusal":"I will not."}`), text);
  const { output } = frames.response;
  t.like(output[0], {
    type: 'message',
    content: [
      { type: 'output_text', annotations: [], logprobs: [], text: 'Well' },
      { type: 'refusal', refusal: 'I will not.' },
    ],
  });
  const { request } = callOf(
    fromResponsesRequest({ model: origin.model, input: [...output, { role: 'user', content: 'x' }] }),
    [],
  );
  t.deepEqual(request.messages[0], {
    role: 'assistant',
    content: [{ type: 'text', text: 'WellI will not.' }],
  });
});

test('an answer that was cut off is incomplete, and names the reason', (t) => {
  for (const [reason, named] of [
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ] as const) {
    const frames = framesFor({});
    frames.write([
      { type: 'content', text: 'Yes and' },
      { type: 'stop', reason, raw: reason },
    ]);
    t.like(frames.response, {
      status: 'incomplete',
      incomplete_details: { reason: named },
      completed_at: null,
    });
    t.deepEqual(typesOf(frames.end()), ['response.incomplete']);
  }
});
