// What streams hold beside text and calls reaches the clients of the vendor's own format.
import type Anthropic from '@anthropic-ai/sdk';
import test from 'ava';
import { clients, recordingVendors } from '../support/servers/vendors/recording-vendors.js';

const { shared, messages: messagesVendor } = recordingVendors(test);
const { anthropic } = clients;

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
