import test from 'ava';
import fc from 'fast-check';
import { AnthropicStreamReader } from '../../../src/llm/anthropic/from-chunk.js';
import type { ReplyItem } from '../../../src/llm/contract.js';
import { adaptersByVendor } from '../../../src/llm/index.js';
import { TextEnvelope } from '../../../src/llm/text-envelope.js';
import type { StreamReader } from '../../../src/llm/vendor.js';

const chat = (content: string, more = {}): string =>
  JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { content }, finish_reason: null }], ...more });
const claude = (text: string, index = 0): string =>
  JSON.stringify({ type: 'content_block_delta', index, delta: { type: 'text_delta', text } });

test('a piece with the same surroundings gives its text, any other piece gives nothing', (t) => {
  const envelope = new TextEnvelope('content');
  t.is(envelope.open(chat('a')), undefined);
  envelope.learn(chat('a'), 'a');
  t.is(envelope.open(chat('Grüße')), 'Grüße');
  t.is(envelope.open(chat('')), '');
  for (const other of [
    chat('a "quoted" word'),
    chat('a\nline'),
    chat('a\\'),
    chat('a', { usage: null }),
    chat('a').replace('"finish_reason":null', '"finish_reason":"stop"'),
    chat('a').replace('"content":"a"', '"content":"a","tool_calls":[]'),
    chat('a').slice(0, -1),
    '',
  ]) {
    t.is(envelope.open(other), undefined, other);
  }
});

test('surroundings are learned only if the text is distinguishable', (t) => {
  const envelope = new TextEnvelope('content');
  const twice = '{"content":"a","choices":[{"delta":{"content":"a"}}]}';
  envelope.learn(twice, 'a');
  t.is(envelope.open(twice), undefined);
  envelope.learn(chat('a "b"'), 'a "b"');
  t.is(envelope.open(chat('c')), undefined);
  envelope.learn('{"delta": {"content": "a"}}', 'a');
  t.is(envelope.open('{"delta": {"content": "b c"}}'), 'b c');
});

test('pieces give the same read one after the other or separately', (t) => {
  const openai = adaptersByVendor([]).get('openai');
  const makers: readonly (readonly [() => StreamReader, (text: string, odd: number) => string])[] = [
    [
      () => openai?.reader() ?? t.fail(),
      (text, odd) => (odd === 0 ? chat(text, { system_fingerprint: 'z' }) : chat(text)),
    ],
    [() => new AnthropicStreamReader(), (text, odd) => claude(text, odd)],
  ];
  const piece = fc.tuple(
    fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('"', '\\', '"}', '","x":"', '\u2028', '\n', 'plain'),
    ),
    fc.nat(2),
  );
  for (const [reader, make] of makers) {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const together: ReplyItem[] = [];
        const apart: ReplyItem[] = [];
        const one = reader();
        for (const [text, odd] of pieces) {
          const event = { event: '', data: make(text, odd) };
          one.read(event, together);
          reader().read(event, apart);
        }
        const texts = (items: readonly ReplyItem[]): string[] =>
          items.flatMap((item) => (item.type === 'content' && item.text !== '' ? [item.text] : []));
        t.deepEqual(texts(together), texts(apart));
        t.is(texts(together).join(''), pieces.map(([text]) => text).join(''));
      }),
    );
  }
});
