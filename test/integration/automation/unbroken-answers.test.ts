import { createHash } from 'node:crypto';
import test from 'ava';
import fc from 'fast-check';
import type { SplitConfig } from '../../../src/automation/triggers/config/webhook-config.js';
import { splitAnswer } from '../../../src/automation/outbox/replies/split.js';

const strategies = ['paragraph', 'sentence', 'length'] as const;

const split: SplitConfig = {
  enabled: true,
  max_chunk_size: 1_500,
  max_chunks: 3,
  chunk_strategy: 'paragraph',
  numbering: false,
  inter_chunk_delay_ms: 0,
};

const base64 = Array.from({ length: 200 }, (_, index) =>
  createHash('sha256').update(`${index}`).digest('base64'),
).join('');

test('text without a space fills its pieces, and nothing that fits is dropped', (t) => {
  const answers = [
    'y'.repeat(4_500),
    'ж'.repeat(4_500),
    base64.slice(0, 4_500),
    `See https://example.com/?list=${'q'.repeat(2_000)}?of!${'r'.repeat(3_000)}`.slice(0, 4_500),
    `Here it is:\n\n${base64.slice(0, 4_487)}`,
  ];
  for (const chunk_strategy of strategies) {
    for (const answer of answers) {
      const { chunks, truncated } = splitAnswer(answer, { ...split, chunk_strategy });
      const of = `${chunk_strategy} of ${answer.slice(0, 30)}`;
      t.deepEqual(
        chunks.map(({ length }) => length),
        [1_500, 1_500, 1_500],
        of,
      );
      t.deepEqual([chunks.join(''), truncated], [answer, false], of);
    }
  }
});

test('text around an unbroken run keeps its words and shares pieces with it', (t) => {
  const words = 'These words stay whole, whatever comes after them. ';
  const { chunks, truncated } = splitAnswer(
    `${words.repeat(20)}${base64.slice(0, 1_900)} ${words.repeat(20)}`,
    {
      ...split,
      max_chunks: 10,
    },
  );
  t.false(truncated);
  t.is(chunks[0]?.length, 1_500);
  t.is(chunks[1]?.length, 1_471, 'up to the end of a sentence');
  t.regex(chunks[1] ?? '', /them\.$/);
  t.regex(chunks[2] ?? '', /^These .*them\.$/);
});

test('unbroken text of any length needs as few pieces as can hold it', (t) => {
  const unit = fc.constantFrom('y', '7', '+', '/', '=', '.', '?', '!', '-', '_', '&', '#', '"');
  fc.assert(
    fc.property(
      fc.string({ unit, minLength: 101, maxLength: 3_000 }),
      fc.constantFrom(...strategies),
      fc.integer({ min: 100, max: 400 }),
      (answer, chunk_strategy, max_chunk_size) => {
        const max_chunks = Math.ceil(answer.length / max_chunk_size);
        const { chunks, truncated } = splitAnswer(answer, {
          ...split,
          chunk_strategy,
          max_chunk_size,
          max_chunks,
        });
        return (
          !truncated && chunks.join('') === answer && chunks.every(({ length }) => length <= max_chunk_size)
        );
      },
    ),
  );
  t.pass();
});

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

test('no piece begins or ends inside a character as people see it', (t) => {
  const characters = ['👨‍👩‍👧‍👦', '🇩🇪', 'e\u0301', 'क्षि', '😀', '\u06001', '𝐀'];
  const breaks = ['word ', 'One is here. ', '\n\n', '\r\n', ' ', '中文', 'ไทย', '한국'];
  const run = 'x'.repeat(130);
  const runs = [run, `e\u0301${run}`, `${run}\u0301`, `👍🏽${'/'.repeat(101)}`];
  const longRuns = characters.map((one) => one.repeat(80));
  const unit = fc.constantFrom(...characters, ...breaks, ...runs, ...longRuns);
  fc.assert(
    fc.property(
      fc.array(unit, { maxLength: 40 }),
      fc.constantFrom(...strategies),
      fc.integer({ min: 100, max: 180 }),
      fc.integer({ min: 1, max: 50 }),
      (units, chunk_strategy, max_chunk_size, max_chunks) => {
        const answer = units.join('');
        const { chunks, truncated } = splitAnswer(answer, {
          ...split,
          chunk_strategy,
          max_chunk_size,
          max_chunks,
        });
        const bounds = new Set(Array.from(graphemes.segment(answer), ({ index }) => index)).add(
          answer.length,
        );
        let from = 0;
        for (const [nth, chunk] of chunks.entries()) {
          const shown = truncated && nth === chunks.length - 1 ? chunk.replace(/…$/, '') : chunk;
          const start = answer.indexOf(shown, from);
          from = start + shown.length;
          if (start === -1 || !bounds.has(start) || !bounds.has(from)) return false;
        }
        return true;
      },
    ),
    { numRuns: 500 },
  );
  t.pass();
});

test('a character longer than a piece is cut, and never inside a code point', (t) => {
  const answer = `a${'\u0301'.repeat(150)}😀${'\u{E0100}'.repeat(100)}`;
  for (const chunk_strategy of strategies) {
    const { chunks } = splitAnswer(answer, { ...split, chunk_strategy, max_chunk_size: 100, max_chunks: 9 });
    t.true(chunks.every((chunk) => chunk.length <= 100 && chunk.isWellFormed()));
    t.is(chunks.join(''), answer);
  }
});

test('the time to split grows with the length of an answer only', (t) => {
  const answers = [
    ['x', '\n'.repeat(1_000_000), 'y'],
    ['x', ' \n'.repeat(500_000), 'y'],
    ['y'.repeat(2_000_000)],
    ['é'.repeat(1_000_000)],
    ['a\u0301'.repeat(500_000)],
    [`${base64}? `.repeat(100)],
  ].map((parts) => parts.join(''));
  for (const answer of answers) {
    for (const chunk_strategy of strategies) {
      const wide = { ...split, chunk_strategy, max_chunk_size: 50_000, max_chunks: 50 };
      t.true(splitAnswer(answer, wide).chunks.every(({ length }) => length <= 50_000));
    }
  }
});
