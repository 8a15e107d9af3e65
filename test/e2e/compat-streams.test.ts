// What streams hold beside text and calls reaches the clients of the vendor's own format.
import type Anthropic from '@anthropic-ai/sdk';
import test from 'ava';
import { addOwnKey } from '../support/clients/direct-calls.js';
import { clients, recordingVendors } from '../support/servers/vendors/recording-vendors.js';

const { shared, messages: messagesVendor, router } = recordingVendors(test);
const { openai, anthropic } = clients;

const plainQuestion = [{ role: 'user' as const, content: 'Hello' }];

function blockEvents(index: number, content_block: object, deltas: readonly object[]): object[] {
  return [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

test.serial('a citation that comes before its text belongs to that text, whatever came before', async (t) => {
  const node = await shared.tenant(t);
  const citation = { type: 'char_location', cited_text: 'Rome', document_index: 0 };
  const call = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} };
  const empty = { type: 'text', text: '' };
  const text = (said: string) => ({ type: 'text_delta', text: said });
  const message = {
    id: 'msg_x',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 5, output_tokens: 2 },
  };
  const events = [
    { type: 'message_start', message },
    ...blockEvents(0, empty, [text('A ')]),
    ...blockEvents(1, { ...empty, citations: [] }, [{ type: 'citations_delta', citation }, text('B')]),
    ...blockEvents(2, call, [{ type: 'input_json_delta', partial_json: '{}' }]),
    ...blockEvents(3, { ...empty, citations: [] }, [{ type: 'citations_delta', citation }, text('C')]),
    ...blockEvents(4, empty, [text('D')]),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  ] as { type: string }[];
  messagesVendor.script({
    garbage: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
  });
  const wish = { model: 'claude-sonnet-4-5', max_tokens: 500, messages: plainQuestion };
  const answer = await anthropic(node).messages.stream(wish).finalMessage();
  const shown = answer.content.map((block: Anthropic.ContentBlock) =>
    block.type === 'text' ? [block.text, block.citations?.length ?? 0] : block.type,
  );
  t.deepEqual(shown, [['A ', 0], ['B', 1], 'tool_use', ['C', 1], ['D', 0]]);
});

test.serial("OpenRouter's own blocks of thoughts reach clients of its format", async (t) => {
  const node = await shared.tenant(t);
  await addOwnKey(node, 'openrouter', 'sk-or-own-0123456789');
  const head = { id: 'gen-1', created: 1, model: 'x', object: 'chat.completion.chunk' };
  const chunk = (delta: object, finish_reason: string | null = null): string =>
    `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const details = [
    { type: 'reasoning.text', text: 'Hm', index: 0 },
    { type: 'reasoning.text', signature: 'EqRB', index: 0 },
  ];
  router.script({
    garbage: [
      chunk({ role: 'assistant', content: '', reasoning: 'Hm', reasoning_details: [details[0]] }),
      chunk({ content: '', reasoning: null, reasoning_details: [details[1]] }),
      chunk({ content: 'Yes.', reasoning_details: [] }),
      chunk({ content: '' }, 'stop'),
      'data: [DONE]\n\n',
    ].join(''),
  });
  const wish = { model: 'openrouter.deepseek/deepseek-v3.2', messages: plainQuestion, stream: true as const };
  const seen: unknown[] = [];
  let text = '';
  for await (const { choices } of await openai(node).chat.completions.create(wish)) {
    const delta = (choices[0]?.delta ?? {}) as { content?: string; reasoning_details?: unknown[] };
    text += delta.content ?? '';
    if (delta.reasoning_details !== undefined) seen.push(...delta.reasoning_details);
  }
  t.is(text, 'Yes.');
  t.deepEqual(seen, details);
});
