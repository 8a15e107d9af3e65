import test from 'ava';
import fc from 'fast-check';
import { TooLargeError } from '../../../src/llm/vendor-error.js';
import { SseParser } from '../../../src/llm/transport/sse-parser.js';
import type { SseEvent } from '../../../src/llm/vendor.js';

function parse(pieces: readonly Uint8Array[], bytesMax = 1 << 20): SseEvent[] {
  const parser = new SseParser(bytesMax);
  const events: SseEvent[] = [];
  for (const piece of pieces) parser.push(Buffer.from(piece), (event) => events.push(event));
  parser.end((event) => events.push(event));
  return events;
}

function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const cuts = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...cuts, bytes.length].map((end, index) => bytes.subarray(cuts[index - 1] ?? 0, end));
}

test('events are read with LF, CRLF and CR, with comments, ids, names and several data lines', (t) => {
  for (const end of ['\n', '\r\n', '\r']) {
    const text = [
      '\uFEFF: a comment',
      'event: greeting',
      'id: 7',
      'retry: 100',
      'data: first',
      'data:second',
      'data',
      '',
      ': OPENROUTER PROCESSING',
      '',
      'event: without data',
      '',
      'datum: not a field',
      'data:  two spaces',
      '',
    ].join(end);
    t.deepEqual(
      parse([Buffer.from(`${text}${end}`)]),
      [
        { event: 'greeting', data: 'first\nsecond\n' },
        { event: '', data: ' two spaces' },
      ],
      JSON.stringify(end),
    );
  }
});

test('a cut between CR and LF ends no line twice', (t) => {
  const bytes = Buffer.from('event: named\r\ndata: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n');
  const expected = [
    { event: 'named', data: 'a\nb' },
    { event: '', data: 'c' },
  ];
  for (let at = 0; at <= bytes.length; at += 1) {
    t.deepEqual(parse([bytes.subarray(0, at), bytes.subarray(at)]), expected, `cut at ${at}`);
  }
});

test('the events do not depend on the cuts', (t) => {
  const field = fc.constantFrom('data: ', 'data:', 'event: ', ': ', 'id: ', '');
  const line = fc
    .tuple(field, fc.string({ unit: 'grapheme', maxLength: 12 }))
    .map(([name, text]) => name + text);
  const end = fc.constantFrom('\n', '\r\n', '\r');
  const stream = fc
    .array(fc.tuple(line, end, fc.boolean(), end))
    .map((lines) =>
      lines.map(([text, first, blank, second]) => text + first + (blank ? second : '')).join(''),
    );
  fc.assert(
    fc.property(stream, fc.array(fc.nat(400), { maxLength: 12 }), (text, places) => {
      const bytes = Buffer.from(text);
      t.deepEqual(parse(cutAt(bytes, places)), parse([bytes]));
    }),
    { numRuns: 300 },
  );
  t.pass();
});

test('a last event without its blank line is delivered, also without a line end', (t) => {
  t.deepEqual(parse([Buffer.from('data: one\n\ndata: [DONE]')]), [
    { event: '', data: 'one' },
    { event: '', data: '[DONE]' },
  ]);
});

test('an event beyond the limit is refused, in one line or in many', (t) => {
  const long = Buffer.from(`data: ${'x'.repeat(2000)}`);
  t.throws(() => parse([long], 1000), { instanceOf: TooLargeError });
  const many = Array.from({ length: 200 }, () => Buffer.from('data: 0123456789\n'));
  t.throws(() => parse(many, 1000), { instanceOf: TooLargeError });
  const lines = Buffer.from('data: 0123456789\n\n'.repeat(500));
  t.is(parse([lines], 1000).length, 500);
});
