import test from 'ava';
import fc from 'fast-check';
import { PlatformError } from '../../../src/kernel/errors.js';
import { acknowledgement } from '../../../src/automation/outbox/replies/acknowledgement.js';
import { deadlineOf } from '../../../src/automation/outbox/replies/deadlines.js';
import { emptyTwiml, renderSync, type SyncResult } from '../../../src/automation/outbox/replies/formats.js';
import { plainText } from '../../../src/automation/outbox/replies/plain-text.js';
import { plainTextsBy } from '../../../src/automation/outbox/replies/plain-texts.js';
import { splitAnswer } from '../../../src/automation/outbox/replies/split.js';
import { outgoingText } from '../../../src/automation/outbox/replies/sync-answer.js';
import { derivedTransform, transformed } from '../../../src/automation/outbox/replies/transform.js';
import { callbackRequest } from '../../../src/automation/outbox/callback-body.js';
import { callback as callbackSchema } from '../../../src/automation/triggers/config/execution-config.js';
import { longestTurn } from '../../support/clocks/longest-turn.js';
import { oneTenant, patientTasks, startSandbox } from '../../support/servers/sandbox.js';

const result: SyncResult = {
  success: true,
  triggerId: 't1',
  agentId: 'a1',
  executionId: 'e1',
  text: 'one & <two>',
  chunks: ['one', 'two'],
  totalTokens: 12,
  latencyMs: 34,
};

test('a synchronous answer has the shape of its format', (t) => {
  const body = (format: Parameters<typeof renderSync>[0], of = result): unknown =>
    JSON.parse(renderSync(format, of).body);
  t.deepEqual(body('raw'), {
    success: true,
    trigger_id: 't1',
    agent_id: 'a1',
    agent_response: 'one & <two>',
    execution_id: 'e1',
    usage: { total_tokens: 12 },
    latency_ms: 34,
  });
  t.like(body('raw', { ...result, success: false, errorCode: 'provider_error' }), {
    success: false,
    error: 'provider_error',
  });
  t.deepEqual(body('erp'), [
    { message: 'one', type: 'text' },
    { message: 'two', type: 'text' },
  ]);
  t.deepEqual(body('slack'), { response_type: 'in_channel', text: 'one & <two>' });
  t.deepEqual(body('teams'), { type: 'message', text: 'one & <two>' });
  const xml = renderSync('twiml', { ...result, text: 'one & <two>\u0001' });
  t.is(xml.body, '<Response><Message>one &amp; &lt;two&gt;</Message></Response>');
  t.regex(xml.contentType, /^text\/xml/);
  t.is(renderSync('twiml', { ...result, text: '' }).body, '<Response></Response>');
  t.deepEqual(emptyTwiml, { status: 200, contentType: 'text/xml', body: '<Response></Response>' });
});

test('markdown becomes readable plain text', (t) => {
  t.is(
    plainText('# Title\n\nSome **bold**, _italic_ and `code` with [a link](https://example.com).'),
    'Title\n\nSome bold, italic and code with a link (https://example.com).',
  );
  t.is(plainText('- one\n- **two**\n  - three\n\n3. x\n4. y'), '- one\n- two\n  - three\n\n3. x\n4. y');
  t.is(
    plainText('```js\nconst a = 1;\n```\n\n> quoted\n\n---\n\n<b>html</b>'),
    'const a = 1;\n\nquoted\n\nhtml',
  );
  t.is(plainText('| a | b |\n|---|---|\n| 1 | **2** |'), 'a | b\n1 | 2');
  t.is(plainText('2 * 3 * 4 and snake_case_name & <3'), '2 * 3 * 4 and snake_case_name & <3');
  t.is(plainText('https://example.com'), 'https://example.com');
  t.is(plainText(`${'> '.repeat(2_000)}deep`).includes('deep'), true);
});

test('tags of HTML are removed from plain text, and other words in angle brackets stay', (t) => {
  for (const [markdown, plain] of [
    ['Dear List<String> and <your-order-number>, see.', 'Dear List<String> and <your-order-number>, see.'],
    ['Reply with <order number> to <address>.', 'Reply with <order number> to <address>.'],
    ['<name>\nwrites **this**', '<name>\nwrites **this**'],
    ['`code` & <tag>', 'code & <tag>'],
    ['one <br>two <BR/>H<sub>2</sub>O, <a href="https://x.example">here</a>', 'one \ntwo \nH2O, here'],
    ['one<br>two<BR />three', 'one\ntwo\nthree'],
    ['<div>one<br/>two</div>', 'one\ntwo'],
    ['<!-- hidden --><div>\n<p class="x">for <name></p>\n</div>', 'for <name>'],
    ['<x-y z="1">kept</x-y> <img src=x onerror=alert(1)>gone', '<x-y z="1">kept</x-y> gone'],
  ] as const)
    t.is(plainText(markdown), plain);
  const xml = renderSync('twiml', { ...result, text: plainText('Use <name> & <b>go</b>') });
  t.is(xml.body, '<Response><Message>Use &lt;name&gt; &amp; go</Message></Response>');
});

test('the format determines the form of an answer', async (t) => {
  t.deepEqual(derivedTransform('twiml'), { strip_markdown: true, max_length: 4_096 });
  for (const format of ['raw', 'erp', 'slack', 'teams'] as const)
    t.deepEqual(derivedTransform(format), { strip_markdown: false });
  const sandbox = startSandbox(t);
  const way = { scope: oneTenant, plainTexts: plainTextsBy(patientTasks(sandbox)) };
  t.is(transformed(way, '**x**', { strip_markdown: false }), '**x**');
  t.is(transformed(way, '**x**', { strip_markdown: true }), 'x');
  t.is(await transformed(way, `**${'x'.repeat(5_000)}**`, derivedTransform('twiml')), 'x'.repeat(4_096));
});

// By itself: other tests here split answers for seconds.
test.serial(
  'an answer whose markup takes too long to read is sent as written and delays nobody',
  async (t) => {
    const sandbox = startSandbox(t);
    const plainTexts = plainTextsBy(sandbox);
    const { turnMs } = await longestTurn(async () => {
      for (const text of ['a_b'.repeat(33_000), '_a_'.repeat(33_000)])
        t.is(await plainTexts(oneTenant, text), text);
    });
    t.true(turnMs < 1_500, `the event loop stood still for ${turnMs} ms`);
    const patient = plainTextsBy(patientTasks(sandbox));
    t.is(await patient(oneTenant, 'A **bold** word. '.repeat(500)), 'A bold word. '.repeat(500).trim());
  },
);

test('an answer is sent as written also if the sandbox is unavailable', async (t) => {
  const refusal = new PlatformError('service_unavailable');
  const plainTexts = plainTextsBy({ run: () => Promise.reject(refusal) });
  const text = '**long** '.repeat(1_000);
  t.is(await plainTexts(oneTenant, text), text);
});

const split = {
  enabled: true,
  max_chunk_size: 100,
  max_chunks: 10,
  chunk_strategy: 'paragraph' as 'paragraph' | 'sentence' | 'length',
  numbering: true,
  inter_chunk_delay_ms: 0,
};

test('an answer that fits, or must not be split, stays whole and has no number', (t) => {
  t.deepEqual(splitAnswer('x'.repeat(100), split), { chunks: ['x'.repeat(100)], truncated: false });
  t.deepEqual(splitAnswer('x'.repeat(101), { ...split, enabled: false }), {
    chunks: ['x'.repeat(101)],
    truncated: false,
  });
});

test('an answer that is not split is cut where its receiver would refuse it, and says so', (t) => {
  const whole = { ...split, enabled: false, text_max: 300 };
  t.deepEqual(splitAnswer('x'.repeat(300), whole), { chunks: ['x'.repeat(300)], truncated: false });
  t.deepEqual(splitAnswer('x'.repeat(301), whole), { chunks: [`${'x'.repeat(299)}…`], truncated: true });
});

test('an answer of white space is one chunk', (t) => {
  for (const chunk_strategy of ['paragraph', 'sentence'] as const) {
    for (const text of [' '.repeat(101), ' \n\n'.repeat(5_000)]) {
      const { chunks, truncated } = splitAnswer(text, { ...split, chunk_strategy });
      t.deepEqual([chunks.length, chunks[0]?.trim(), truncated], [1, '', false]);
    }
  }
});

test('paragraphs are kept together, small ones in groups', (t) => {
  const [a, b, c] = ['a'.repeat(40), 'b'.repeat(40), 'c'.repeat(60)];
  t.deepEqual(splitAnswer(`${a}\n\n${b}\n \n${c}`, split).chunks, [`(1/2)\n${a}\n\n${b}`, `(2/2)\n${c}`]);
});

test('blank lines end paragraphs whatever the line ends', (t) => {
  const paragraphs = [1, 2, 3].map((n) => `Sentence ${n} one is here now. Sentence ${n} two is here.`);
  for (const end of ['\n', '\r\n'])
    t.deepEqual(
      splitAnswer(paragraphs.join(`${end} ${end}`), { ...split, numbering: false }).chunks,
      paragraphs,
    );
});

test('sentences are kept together, short ones in groups', (t) => {
  const text = `${'One is here. '.repeat(6)}${'Two is there! '.repeat(6)}`.trim();
  const { chunks } = splitAnswer(text, { ...split, chunk_strategy: 'sentence', numbering: false });
  t.true(chunks.every((chunk) => /[.!]$/.test(chunk)));
  t.is(chunks.join(' '), text);
});

test('a long answer is split at the ends of its sentences, wherever they lie', (t) => {
  const sentences = Array.from(
    { length: 400 },
    (_, index) => `Sentence ${index} has ${'several '.repeat(index % 150)}words.`,
  );
  const { chunks, truncated } = splitAnswer(sentences.join(' '), {
    ...split,
    chunk_strategy: 'sentence',
    numbering: false,
    max_chunk_size: 3_000,
    max_chunks: 500,
  });
  t.false(truncated);
  t.true(chunks.every((chunk) => /^Sentence.*\.$/s.test(chunk)));
  t.is(chunks.join(' '), sentences.join(' '));
});

test('an answer of a hundred thousand short sentences is split without using gigabytes', (t) => {
  for (const text of [
    'a. '.repeat(100_000),
    'a b '.repeat(75_000),
    '. '.repeat(150_000),
    '😀'.repeat(100_000),
  ]) {
    for (const chunk_strategy of ['paragraph', 'sentence'] as const) {
      const wide = { ...split, chunk_strategy, max_chunk_size: 50_000, max_chunks: 50 };
      const { chunks } = splitAnswer(text, wide);
      t.true(chunks.length >= 4 && chunks.every((chunk) => chunk.length <= 50_000));
    }
  }
});

test('a hard split cuts at the count and never inside a character', (t) => {
  const text = '0123456789'.repeat(30);
  t.deepEqual(splitAnswer(text, { ...split, chunk_strategy: 'length', numbering: false }).chunks, [
    text.slice(0, 100),
    text.slice(100, 200),
    text.slice(200),
  ]);
  const faces = `x${'😀'.repeat(150)}`;
  const { chunks } = splitAnswer(faces, { ...split, chunk_strategy: 'length', numbering: false });
  t.true(chunks.every((chunk) => chunk.isWellFormed()));
  t.is(chunks.join(''), faces);
});

test('text beyond the last chunk is dropped, and the last chunk says so', (t) => {
  const { chunks, truncated } = splitAnswer('word '.repeat(200), { ...split, max_chunks: 3 });
  t.true(truncated);
  t.is(chunks.length, 3);
  t.regex(chunks[2] ?? '', /^\(3\/3\)\n.*…$/s);
  const one = splitAnswer('x'.repeat(500), { ...split, max_chunks: 1 });
  t.deepEqual(one, { chunks: [`${'x'.repeat(99)}…`], truncated: true });
});

test('every split keeps chunk limits, numbers and all text', (t) => {
  const text = fc
    .array(
      fc.oneof(
        fc.lorem({ mode: 'sentences', maxCount: 3 }),
        fc.constantFrom('\n\n', ' ', '😀'.repeat(60), 'x'.repeat(250), '\n'),
      ),
      { maxLength: 40 },
    )
    .map((parts) => parts.join(' '));
  fc.assert(
    fc.property(
      text,
      fc.constantFrom('paragraph', 'sentence', 'length'),
      fc.integer({ min: 100, max: 180 }),
      fc.integer({ min: 1, max: 50 }),
      fc.boolean(),
      (answer, chunk_strategy, max_chunk_size, max_chunks, numbering) => {
        const { chunks, truncated } = splitAnswer(answer, {
          ...split,
          chunk_strategy,
          max_chunk_size,
          max_chunks,
          numbering,
        });
        const bare = chunks.map((chunk, index) => {
          if (!numbering || chunks.length === 1) return chunk;
          const prefix = `(${index + 1}/${chunks.length})\n`;
          if (!chunk.startsWith(prefix)) throw new Error(`no ${prefix}`);
          return chunk.slice(prefix.length);
        });
        const squeeze = (part: string): string => part.replaceAll(/\s+/g, '');
        return (
          chunks.length <= max_chunks &&
          chunks.every((chunk) => chunk.length <= max_chunk_size && chunk.isWellFormed()) &&
          (truncated || squeeze(bare.join('')) === squeeze(answer)) &&
          (!truncated || squeeze(answer).startsWith(squeeze(bare.join('')).replace(/…$/, '')))
        );
      },
    ),
    { numRuns: 200 },
  );
  t.pass();
});

test('an acknowledgement is the configured one with its content type, or the default', (t) => {
  const usual = { success: true, execution_id: 'e1', status: 'accepted' };
  const names = { execution_id: 'e1', customer: 'Ada' };
  t.deepEqual(
    acknowledgement({ ack_response: undefined }, () => names, usual),
    {
      status: 202,
      contentType: 'application/json; charset=utf-8',
      body: JSON.stringify(usual),
    },
  );
  t.deepEqual(
    acknowledgement({ ack_response: { body: { id: '{{ execution_id }}', n: 1 } } }, () => names, usual).body,
    '{"id":"e1","n":1}',
  );
  t.deepEqual(
    acknowledgement(
      { ack_response: { body: '<Response></Response>', content_type: 'text/xml' } },
      () => names,
      usual,
    ),
    {
      status: 202,
      contentType: 'text/xml',
      body: '<Response></Response>',
    },
  );
  t.deepEqual(
    acknowledgement({ ack_response: { body: 'Thanks, {{ customer }}' } }, () => names, usual),
    {
      status: 202,
      contentType: 'text/plain; charset=utf-8',
      body: 'Thanks, Ada',
    },
  );
  t.is(
    acknowledgement({ ack_response: { body: 'ok', content_type: 'application/json' } }, () => names, usual)
      .body,
    '"ok"',
  );
  t.is(
    acknowledgement({ ack_response: { content_type: 'text/plain' } }, () => names, usual).contentType,
    'text/plain',
  );
});

test("a trigger's time only shortens the deadline", (t) => {
  t.is(deadlineOf('sync', undefined, undefined), 180_000);
  t.is(deadlineOf('async', undefined, undefined), 600_000);
  t.is(deadlineOf('sync', 5_000, 60_000), 5_000, 'that of execution wins');
  t.is(deadlineOf('sync', undefined, 60_000), 60_000);
  t.is(deadlineOf('sync', 900_000, undefined), 180_000);
  t.is(deadlineOf('async', 900_000, undefined), 600_000);
  for (const ignored of ['5000', null, 999, -1, Number.NaN, {}, true])
    t.is(deadlineOf('sync', ignored, undefined), 180_000, JSON.stringify(ignored));
});

test('a callback is filled in from the answer and the mapped context', (t) => {
  const chunk = {
    agent_response: 'Hi "Ada"',
    session_id: 's1',
    execution_id: 'e1',
    trigger_id: 't1',
    chunk_index: 1,
    chunk_total: 2,
  };
  const plain = callbackSchema.parse({ url: 'https://x.example/{{ customer }}' });
  t.deepEqual(callbackRequest(plain, { customer: 'a b', execution_id: 'forged' }, chunk), {
    url: 'https://x.example/a%20b',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(chunk),
  });
  const form = callbackSchema.parse({
    url: 'https://x.example/',
    method: 'PUT',
    content_type: 'application/x-www-form-urlencoded',
    body_template: { To: '{{ _waId }}', Body: '{{ agent_response }}', n: '{{ chunk_index }}' },
  });
  t.is(callbackRequest(form, { _waId: '+49' }, chunk)?.body, 'To=%2B49&Body=Hi+%22Ada%22&n=1');
  const typed = callbackSchema.parse({
    url: 'https://x.example/',
    body_template: { n: '{{ chunk_index }}', nested: [{ t: '{{agent_response}}' }] },
  });
  t.deepEqual(JSON.parse(callbackRequest(typed, {}, chunk)?.body ?? ''), {
    n: 1,
    nested: [{ t: 'Hi "Ada"' }],
  });
  t.is(callbackRequest(plain, { customer: '..' }, chunk), undefined);
});

test('a timeout is told to people in words and to no callback, a failed turn to neither', (t) => {
  const turn = { content: '', totalTokens: 0, latencyMs: 1, error: undefined };
  for (const to of ['sender', 'callback'] as const) {
    t.is(outgoingText({ ...turn, outcome: 'COMPLETED', content: 'done' }, to), 'done');
    t.is(outgoingText({ ...turn, outcome: 'COMPLETED' }, to), '');
    t.is(outgoingText({ ...turn, outcome: 'COMPLETED', content: ' \n' }, to), '', 'white space is no answer');
    t.is(outgoingText({ ...turn, outcome: 'COMPLETED', content: ' done\n' }, to), ' done\n');
    for (const outcome of ['FAILED', 'CANCELLED', 'BLOCKED', 'SUSPENDED'] as const)
      t.is(outgoingText({ ...turn, outcome, content: 'some of it' }, to), '');
  }
  const late = { ...turn, outcome: 'TIMEOUT' } as const;
  t.is(outgoingText({ ...late, content: 'half of' }, 'sender'), 'half of');
  t.is(outgoingText(late, 'sender'), 'The agent did not answer in time.');
  t.is(outgoingText({ ...late, content: ' \n' }, 'sender'), 'The agent did not answer in time.');
  for (const content of ['half of', '']) t.is(outgoingText({ ...late, content }, 'callback'), '');
});
