import test from 'ava';
import { inputTokens, outputTokens, type LlmRequest } from '../../../src/llm/index.js';
import { wordPieces } from '../../../src/llm/sim/words.js';
import { ask, call, simTarget } from '../../support/servers/vendors/call-harness.js';

test('sim.echo repeats the text of the last user message, word by word, without its context', async (t) => {
  const messages: LlmRequest['messages'] = [
    { role: 'system', content: 'ignored here' },
    { role: 'user', content: [{ type: 'text', text: 'earlier' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'echo: earlier' }] },
    {
      role: 'user',
      content: [
        { type: 'context', text: '{"secret":"no"}' },
        { type: 'text', text: '  Grüße,  aus\nKöln 👋 ' },
      ],
    },
  ];
  const done = await call([simTarget('sim.echo')], { request: { messages } });
  t.is(done.outcome.kind, 'completed');
  t.is(done.answer.text, 'echo:   Grüße,  aus\nKöln 👋 ');
  t.deepEqual(
    done.events.flatMap((event) => (event.type === 'content' ? [event.text] : [])),
    ['echo:', '   Grüße,', '  aus', '\nKöln', ' 👋 '],
  );
  const [report] = done.reports;
  t.is(report?.usage.source, 'reported');
  t.is(outputTokens(report?.usage ?? t.fail()), 5);
  t.is(inputTokens(report?.usage ?? t.fail()), 10);
});

test('sim.lorem answers with the requested number of words and delay', async (t) => {
  const plain = await call([simTarget('sim.lorem-2000')], { request: ask('x') });
  t.is(plain.answer.text.split(' ').length, 2000);
  t.is(outputTokens(plain.reports[0]?.usage ?? t.fail()), 2000);
  const slow = await call([simTarget('sim.lorem-4-50')], { request: ask('x') });
  t.is(slow.answer.text, 'lorem ipsum dolor sit');
  t.true((slow.reports[0]?.durationMs ?? 0) >= 190);
  t.true((slow.reports[0]?.firstSignalMs ?? 0) >= 45, 'the delay comes before each word, the first one too');
  const none = await call([simTarget('sim.lorem-0')], { request: ask('x') });
  t.is(none.answer.text, '');
  t.is(none.outcome.kind, 'completed');
});

test('a long row of blanks is split at once', (t) => {
  const startedMs = performance.now();
  const blanks = ' '.repeat(400_000);
  t.deepEqual([...wordPieces(`a${blanks}b${blanks}`)], ['a', `${blanks}b${blanks}`]);
  t.true(performance.now() - startedMs < 1_000);
});

test('the words joined are the text', (t) => {
  for (const text of ['', ' ', 'a', ' a  b ', 'a\n\nb\t', '日本 語'])
    t.is([...wordPieces(text)].join(''), text);
  t.deepEqual([...wordPieces(' a  b ')], [' a', '  b ']);
});
