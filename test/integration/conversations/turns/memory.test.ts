// The memory of messages that leave the window.
import test from 'ava';
import type { Message } from '../../../../src/llm/index.js';
import { memorySettings, windowOf } from '../../../../src/conversations/turns/index.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { saying } from '../../../support/builders/tool-turns.js';
import {
  agentOf,
  noVendors,
  RecordingPorts,
  startTurns,
  type TurnsBench,
} from '../../../support/builders/turns.js';
import { OpenAiServer } from '../../../support/servers/vendors/openai-server.js';

const database = databaseOfFile(test);
const openai = new OpenAiServer();
let bench: TurnsBench;

test.serial.before(async () => {
  await openai.start();
  const vendors = { ...noVendors, openai: { apiKey: 'sk-test-0001', baseUrl: openai.baseUrl } };
  bench = await startTurns(database, { vendors });
});

test.after.always(() => openai.stop());

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });
const assistant = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] });

test('the window holds the newest messages and begins with one of the user', (t) => {
  const messages = [user('1'), assistant('2'), user('3'), assistant('4')];
  t.deepEqual(windowOf(messages, 10), messages);
  t.deepEqual(windowOf(messages, 3), messages.slice(2));
  t.deepEqual(windowOf(messages, 2), messages.slice(2));
  t.deepEqual(windowOf(messages, 1), []);
  t.deepEqual(windowOf([], 5), []);
});

test('agents remember a window by default, and summarise only if configured', (t) => {
  const of = (memory?: object) =>
    memorySettings(agentOf({ metadata: { ...(memory && { memory }) } }).snapshot);
  t.deepEqual(of(), { remembers: true, windowMessages: 20, summarizeAfter: undefined });
  t.deepEqual(of({ enabled: true }), { remembers: true, windowMessages: 20, summarizeAfter: 20 });
  t.deepEqual(of({ window_messages: 4, summarize_after: 6 }), {
    remembers: true,
    windowMessages: 4,
    summarizeAfter: 6,
  });
  t.false(of({ enabled: false }).remembers);
});

test.serial('a summary uses the notes so far and the messages, and nothing of the context', async (t) => {
  const secret = `sk-${'a1B2'.repeat(8)}`;
  const facts = ['Is called Ann.', `Has the key ${secret}`, 'x'.repeat(400), '', 'Is called Ann.'];
  openai.script(saying('```json\n', JSON.stringify({ summary: ' They spoke of boats. ', facts }), '\n```'));
  const start = bench.start(agentOf({ llm: { model: 'openai.gpt-4.1-mini', temperature: 1.5 } }), 'now', {
    summary: 'They spoke of rum.',
    facts: ['likes rum'],
  });
  const messages: Message[] = [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'my boat' },
        { type: 'context', text: 'hidden-context' },
      ],
    },
    assistant('a fine boat'),
  ];
  const made = await bench.turns.summarise(start, messages, new RecordingPorts());
  t.is(made?.summary, 'They spoke of boats.');
  t.deepEqual(made?.facts, ['Is called Ann.', 'Has the key [REDACTED]', 'x'.repeat(300)]);
  t.true((made?.usage.outputVisible ?? 0) > 0);
  const sent = JSON.stringify(openai.requests.at(-1)?.body);
  for (const part of ['They spoke of rum.', '- likes rum', 'User: my boat', 'Assistant: a fine boat']) {
    t.true(sent.includes(part), part);
  }
  t.false(sent.includes('hidden-context'));
  t.like(openai.requests.at(-1)?.body, { temperature: 0 });
});

test.serial('an answer in another form is the summary, and the facts stay', async (t) => {
  const start = bench.start(agentOf(), 'now', { facts: ['likes rum'] });
  const made = await bench.turns.summarise(start, [user('my boat')], new RecordingPorts());
  t.true(made?.summary.startsWith('echo: Summary so far:'));
  t.true((made?.summary.length ?? 0) <= 4_000);
  t.deepEqual(made?.facts, ['likes rum']);
});

test.serial('the notes stay unchanged if no model can be asked', async (t) => {
  const start = bench.start(agentOf({ llm: { model: 'openai.gpt-4.1-mini' } }), 'now');
  const made = (ports = new RecordingPorts()) => bench.turns.summarise(start, [user('x')], ports);
  openai.script({ status: 400, message: 'no' }, saying(' '));
  t.is(await made(), undefined);
  t.is(await made(), undefined, 'an empty summary is none');
  const asked = openai.requests.length;
  const disowned = new RecordingPorts();
  disowned.owned = false;
  t.is(await made(disowned), undefined);
  const ended = new RecordingPorts();
  ended.end('lost');
  t.is(await made(ended), undefined);
  t.is(openai.requests.length, asked);
  t.deepEqual(bench.problems, []);
});
