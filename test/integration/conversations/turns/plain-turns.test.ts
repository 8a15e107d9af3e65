// Turns without tools: the model's input, the readers' events, the records, the outcomes.
import test from 'ava';
import pg from 'pg';
import { z } from 'zod';
import { sql } from '../../../../src/infra/storage/index.js';
import { TurnLost } from '../../../../src/conversations/turns/index.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { waitersFor } from '../../../support/database/lock-waiters.js';
import {
  agentOf,
  noVendors,
  RecordingPorts,
  startTurns,
  type TurnsBench,
} from '../../../support/builders/turns.js';
import { AnthropicServer } from '../../../support/servers/vendors/anthropic-server.js';
import { OpenAiServer } from '../../../support/servers/vendors/openai-server.js';
import type { VendorServer } from '../../../support/servers/vendors/vendor-server.js';
import { servedTime } from '../../../support/clocks/served-time.js';

const database = databaseOfFile(test);
const openai = new OpenAiServer();
const anthropic = new AnthropicServer();
let bench: TurnsBench;

test.serial.before(async () => {
  await openai.start();
  await anthropic.start();
  bench = await startTurns(database, {
    vendors: {
      ...noVendors,
      openai: { apiKey: 'sk-test-0001', baseUrl: openai.baseUrl },
      anthropic: { apiKey: 'sk-ant-test-0001', baseUrl: anthropic.baseUrl },
    },
  });
});

test.after.always(async () => {
  await openai.stop();
  await anthropic.stop();
});

// Serial: the vendors follow one queue of scripts.
const gpt = { model: 'openai.gpt-4.1-mini' };

/** The one request that holds this text, of a server that several tests talk to. */
function heard(server: VendorServer, text: string) {
  const found = server.requests.filter(({ body }) => JSON.stringify(body).includes(text));
  if (found.length !== 1) throw new Error(`${found.length} requests with ${text}`);
  return found[0]!;
}

test.serial('a plain answer costs one record before the model is called and none after it', async (t) => {
  const ports = new RecordingPorts();
  const start = bench.start(agentOf(), 'tell me about tea', { contextBlock: 'plan: gold' });
  const end = await bench.turns.run(start, ports);
  t.like(end, {
    outcome: 'COMPLETED',
    content: 'echo: tell me about tea',
    blocks: [],
    model: 'sim.echo',
    provider: 'sim',
    toolCalls: 0,
    cost: 0,
    error: undefined,
  });
  t.is(ports.text, end.content);
  t.true(end.usage.inputUncached > 0 && end.usage.outputVisible === 5);
  t.true(end.firstTokenMs !== null && end.firstTokenMs <= end.latencyMs);
  t.deepEqual(
    ports.records.map((steps) => steps.map(({ number, kind, name, state }) => [number, kind, name, state])),
    [[[1, 'model', 'agent.tool-loop', 'started']]],
  );
  t.like(end.steps, [{ number: 1, state: 'finished', detail: { step: 'model', model: 'sim.echo' } }]);
  t.deepEqual(ports.events[0], { type: 'status', state: 'running' });
  t.deepEqual(ports.phases, ['load', 'intent', 'model', 'finish']);
});

test.serial(
  'a session that accepts the ledger opening gets it, and a refused one has lost the turn',
  async (t) => {
    const rows: { readonly attempt_id: string; readonly execution_id: string | null }[] = [];
    const taking = Object.assign(new RecordingPorts(), {
      open: (row: (typeof rows)[number]) => {
        t.is(taking.records.length, 1, 'after the beginning of its step');
        rows.push(row);
        return Promise.resolve();
      },
    });
    const start = bench.start(agentOf(), 'tell me about tea');
    t.is((await bench.turns.run(start, taking)).outcome, 'COMPLETED');
    t.is(rows.length, 1);
    t.is(rows[0]?.execution_id, start.executionId);
    const refused = Object.assign(new RecordingPorts(), {
      open: () => Promise.reject<void>(new Error('another process has it')),
    });
    await t.throwsAsync(bench.turns.run(bench.start(agentOf(), 'tell me more'), refused), {
      instanceOf: TurnLost,
    });
  },
);

test.serial('greetings, thanks and calls for help are answered without the tool loop', async (t) => {
  for (const message of ['Hello!', 'thank you so much', 'Help', 'bom dia', 'What can you do?']) {
    const ports = new RecordingPorts();
    const end = await bench.turns.run(bench.start(agentOf(), message), ports);
    t.is(end.content, `echo: ${message}`);
    t.is(end.steps[0]?.name, 'agent.light-response', message);
  }
  for (const message of [
    'yes',
    'Hello, cancel my order',
    'help me cancel order 7',
    'ok',
    '',
    'hi '.repeat(60),
  ]) {
    const end = await bench.turns.run(bench.start(agentOf(), message), new RecordingPorts());
    t.is(end.steps[0]?.name, 'agent.tool-loop', message);
  }
});

test.serial(
  'the model gets the prompt, the bio, the memory, the history, and the context beside the message',
  async (t) => {
    const agent = agentOf({
      llm: { ...gpt, system_prompt: 'Answer in rhyme.', temperature: 0.3, max_tokens: 77 },
      bio: 'A poet of the harbour.',
    });
    const start = bench.start(agent, 'marker-prompt: what now?', {
      contextBlock: 'ship: Rosa',
      summary: 'They spoke of boats.',
      facts: ['likes rum', 'is called Ann'],
      history: [
        { role: 'user', content: [{ type: 'text', text: 'earlier question' }] },
        { role: 'assistant', content: [{ type: 'text', text: 'earlier answer' }] },
      ],
    });
    const end = await bench.turns.run(start, new RecordingPorts());
    t.is(end.content, 'Hello world');
    const { body } = heard(openai, 'marker-prompt');
    t.like(body, { temperature: 0.3, model: 'gpt-4.1-mini', stream: true });
    t.is(body['max_completion_tokens'] ?? body['max_tokens'], 77);
    const messages = body['messages'] as { role: string; content: unknown }[];
    t.deepEqual(
      messages.map(({ role }) => role),
      ['system', 'user', 'assistant', 'user'],
    );
    const system = String(messages[0]?.content);
    for (const part of [
      'Answer in rhyme.',
      'A poet of the harbour.',
      'boats',
      '- likes rum',
      '- is called Ann',
    ]) {
      t.true(system.includes(part), part);
    }
    t.false(system.includes('Rosa'), 'the context stays outside the system prompt');
    t.deepEqual(messages[3]?.content, [
      { type: 'text', text: 'marker-prompt: what now?' },
      { type: 'text', text: 'ship: Rosa' },
    ]);
  },
);

test.serial('thoughts are sent as thoughts, and the stored text equals the streamed one', async (t) => {
  anthropic.script({
    thinking: ['let me ', 'see'],
    pieces: ['nul \0 half \ud83d', '\ude00 ', 'end'],
    pieceDelayMs: 5,
  });
  const ports = new RecordingPorts();
  const end = await bench.turns.run(
    bench.start(agentOf({ llm: { model: 'anthropic.claude-sonnet-4-5' } }), 'why?'),
    ports,
  );
  t.is(end.outcome, 'COMPLETED', JSON.stringify(end.error));
  t.is(end.content, 'nul  half 😀 end');
  t.is(ports.text, end.content);
  t.is(ports.events.map((event) => (event.type === 'thinking' ? event.content : '')).join(''), 'let me see');
  const [step] = end.steps;
  t.true(step?.detail?.step === 'model' && step.detail.parts.some((part) => part.type === 'thinking'));
  t.false(JSON.stringify(step).includes('\\u0000'));
});

test.serial("a refused or failing model ends the turn as failed, with the platform's code", async (t) => {
  const unknown = await bench.turns.run(
    bench.start(agentOf({ llm: { model: 'nobody.knows' } }), 'x'),
    new RecordingPorts(),
  );
  t.like(unknown, { outcome: 'FAILED', error: { code: 'invalid_model' }, content: '', model: null });
  t.is(unknown.steps[0]?.state, 'failed');
  openai.script({ status: 400, message: 'no good' });
  const failed = await bench.turns.run(bench.start(agentOf({ llm: gpt }), 'x'), new RecordingPorts());
  t.like(failed, {
    outcome: 'FAILED',
    error: { code: 'provider_error', details: { provider: 'openai', original_error: 'no good' } },
  });
  openai.script({ pieces: ['some ', 'text'], failAfter: 1 });
  const ports = new RecordingPorts();
  const half = await bench.turns.run(bench.start(agentOf({ llm: gpt }), 'x'), ports);
  t.like(half, { outcome: 'FAILED', content: 'some ', error: { code: 'provider_error' } });
  t.is(ports.text, 'some ');
  t.deepEqual(bench.problems, []);
});

test.serial('a cancel closes the connection to the vendor within a second and keeps the text', async (t) => {
  for (const [by, outcome] of [
    ['cancelled', 'CANCELLED'],
    ['suspended', 'SUSPENDED'],
  ] as const) {
    openai.script({ pieces: ['partial ', 'answer'], hangAfter: 1 });
    const marker = `marker-${by}`;
    let servedMs: (() => number) | undefined;
    const ports = new RecordingPorts().onEvent((event) => {
      if (event.type !== 'delta') return;
      servedMs = servedTime(t);
      ports.end(by);
    });
    const running = bench.turns.run(bench.start(agentOf({ llm: gpt }), marker), ports);
    await eventually(() => servedMs !== undefined && heard(openai, marker).leftAtMs);
    // Not until the end of the turn, which waits for the store.
    const tookMs = servedMs?.() ?? Infinity;
    t.true(tookMs < 1_000, `${tookMs} ms`);
    const end = await running;
    t.like(end, { outcome, content: 'partial ', error: undefined });
    t.is(end.steps[0]?.state, 'failed');
  }
});

test.serial('a turn owned by another process is dropped wherever this process learns of it', async (t) => {
  const executions = new Map<string, string>();
  const run = (ports: RecordingPorts, message: string) => {
    const start = bench.start(agentOf({ llm: gpt }), message);
    executions.set(message, start.executionId);
    return bench.turns.run(start, ports);
  };
  // The ledger row is opened while the start is recorded, and removed if the turn is not this process's.
  const bookedOf = (messages: readonly string[]) => {
    const ids = messages.map((message) => executions.get(message) ?? '');
    return bench.store.inTenant(bench.scope, (tx) =>
      tx.any(sql.type(z.object({ outcome: z.string().nullable(), input: z.int() }))`
        select outcome, input_tokens as input from usage_rows
        where tenant_id = ${bench.scope.tenantId} and execution_id = any(${sql.array(ids, 'uuid')})`),
    );
  };
  const before = openai.requests.length;
  const refused = new RecordingPorts().onRecord(() => Promise.reject(new Error('fenced')));
  await t.throwsAsync(run(refused, 'marker-refused'), { instanceOf: TurnLost });
  const disowned = new RecordingPorts();
  disowned.owned = false;
  await t.throwsAsync(run(disowned, 'marker-disowned'), { instanceOf: TurnLost });
  t.is(openai.requests.length, before, 'nothing was sent');
  t.deepEqual(await bookedOf(['marker-refused', 'marker-disowned']), []);
  openai.script({ pieces: ['a', 'b'], hangAfter: 1 });
  const lost = new RecordingPorts().onEvent(({ type }) => {
    if (type === 'delta') lost.end('lost');
  });
  await t.throwsAsync(run(lost, 'marker-lost'), { instanceOf: TurnLost });
  await eventually(() => heard(openai, 'marker-lost').leftAtMs !== undefined);
});

test.serial('a turn refused while its tokens are being reserved ends alone', async (t) => {
  // This tenant's month is not loaded yet: its reservation waits for the table.
  const scope = await bench.agents.newTenant();
  const holder = new pg.Client({ connectionString: database.url });
  await holder.connect();
  t.teardown(() => holder.end());
  await holder.query('begin; lock table quota_months in access exclusive mode');
  const isWaitedFor = async (): Promise<boolean> => (await waitersFor(holder)).length > 0;
  const unheard: unknown[] = [];
  const hear = (error: unknown): void => void unheard.push(error);
  process.on('unhandledRejection', hear);
  t.teardown(() => process.off('unhandledRejection', hear));
  const before = openai.requests.length;
  const ports = new RecordingPorts().onRecord(() => Promise.reject(new Error('fenced')));
  const ended = bench.turns.run(bench.start(agentOf({ llm: gpt }), 'marker-reserving', { scope }), ports);
  const thrown = t.throwsAsync(ended, { instanceOf: TurnLost });
  await eventually(() => ports.records.length === 1);
  await eventually(isWaitedFor);
  await holder.query('rollback');
  await thrown;
  t.is(openai.requests.length, before, 'nothing was sent');
  t.deepEqual(unheard, [], 'a node would have ended with 1');
});

test.serial("the turn's deadline ends it at any point, and the answer says so", async (t) => {
  openai.script({ pieces: ['slow ', 'answer'], hangAfter: 1 });
  const start = bench.start(agentOf({ llm: gpt }), 'marker-clock', { deadlineMs: 4_000 });
  const end = await bench.turns.run(start, new RecordingPorts());
  t.like(end, { outcome: 'TIMEOUT', timeoutClock: 'turn', content: 'slow ', error: undefined });
  t.like(end, { ...gpt, provider: 'openai' }, 'the model that was at it is told all the same');
  t.is(end.steps[0]?.state, 'timeout');
  t.true(end.latencyMs >= 3_999 && end.latencyMs < 12_000, `${end.latencyMs} ms`);
  await eventually(() => heard(openai, 'marker-clock').leftAtMs !== undefined);
});

test.serial('a recorded step is not repeated, a started one is', async (t) => {
  const agent = agentOf({ llm: gpt });
  openai.script({ pieces: ['the ', 'answer'] });
  const first = new RecordingPorts();
  const start = bench.start(agent, 'marker-replay');
  const end = await bench.turns.run(start, first);
  t.is(heard(openai, 'marker-replay').path, '/v1/chat/completions');

  const whole = new RecordingPorts();
  const again = await bench.turns.run({ ...start, attempt: 2, recorded: first.recorded(1, end) }, whole);
  t.like(again, { outcome: 'COMPLETED', content: 'the answer', steps: [] });
  t.is(whole.text, 'the answer');
  t.deepEqual(again.usage, end.usage);
  t.deepEqual(whole.records, []);
  t.is(heard(openai, 'marker-replay').path, '/v1/chat/completions', 'asked once');

  openai.script({ pieces: ['another ', 'answer'] });
  const cut = new RecordingPorts();
  const repeated = await bench.turns.run({ ...start, attempt: 2, recorded: first.recorded(1) }, cut);
  t.like(repeated, { outcome: 'COMPLETED', content: 'another answer' });
  t.is(repeated.steps[0]?.number, 1);
  t.deepEqual(cut.records, [], 'its start is recorded already');
  t.throws(() => heard(openai, 'marker-replay'), { message: /^2 requests/ });
});
