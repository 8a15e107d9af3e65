import test from 'ava';
import { PlatformError } from '../../../src/kernel/errors.js';
import { boundedAnswer } from '../../../src/mcp/tools/bounded-answer.js';
import type { InputPlan } from '../../../src/mcp/tools/input-plan.js';
import { answerBytesMax, resultOf } from '../../../src/mcp/tools/tool-result.js';
import type { Arguments } from '../../../src/mcp/tools/tool.js';

const plan = (isPaged: boolean): InputPlan => ({
  isPaged,
  schema: {},
  place: () => ({ params: {}, query: {}, body: {}, headers: {} }),
  subject: () => ({}),
});

/** Rows of a hundred kilobytes each. */
function rows({ limit }: Arguments) {
  return { data: Array.from({ length: Number(limit) }, () => 'x'.repeat(100_000)), next_cursor: 'c' };
}

test('an answer that fits is made in one call, without a note', (t) => {
  const outcome = boundedAnswer(plan(true), { limit: 3 }, rows);
  if (outcome instanceof Promise) return t.fail('a promise costs more than a small read');
  t.is(outcome.note, undefined);
  t.is(resultOf(outcome).content.length, 1);
});

test('a list over 1 MB comes in a smaller page with its cursor, and a note says so', async (t) => {
  const outcome = await boundedAnswer(plan(true), {}, async (args) => rows(args));
  t.true(Buffer.byteLength(outcome.text) <= answerBytesMax);
  t.is((outcome.answer['data'] as unknown[]).length, 3);
  t.is(outcome.answer['next_cursor'], 'c');
  const [first, second] = resultOf(outcome).content;
  t.deepEqual(first, { type: 'text', text: JSON.stringify(outcome.answer) });
  t.regex(second?.type === 'text' ? second.text : '', /50 rows is larger than 1 MB.*next_cursor/);
});

test('a text whose characters take three bytes is measured in bytes', (t) => {
  const text = '€'.repeat(answerBytesMax / 3 + 1);
  t.throws(() => boundedAnswer(plan(false), {}, () => ({ text })), { instanceOf: PlatformError });
});

test('an answer over 1 MB that is no list, or that has too large a row, is refused', async (t) => {
  const large = { text: 'x'.repeat(answerBytesMax) };
  t.throws(() => boundedAnswer(plan(false), {}, () => large), { message: /Narrow it/ });
  const refused = boundedAnswer(plan(true), {}, () => ({ data: [large], next_cursor: null }));
  await t.throwsAsync(Promise.resolve(refused), { message: /single row/ });
});
