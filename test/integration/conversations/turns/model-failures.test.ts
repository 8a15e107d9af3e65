// Models that fail, are slow or are refused in a turn, and thoughts that only their maker may see again.
import { readFileSync } from 'node:fs';
import test from 'ava';
import { TurnLost } from '../../../../src/conversations/turns/index.js';
import { limitsOf } from '../../../../src/kernel/plans/index.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { answerJson, startToolServer } from '../../../support/servers/tool-servers.js';
import { calling, saying } from '../../../support/builders/tool-turns.js';
import {
  agentOf,
  noVendors,
  RecordingPorts,
  startTurns,
  type TurnsBench,
} from '../../../support/builders/turns.js';
import { AnthropicServer } from '../../../support/servers/vendors/anthropic-server.js';
import { GeminiServer } from '../../../support/servers/vendors/gemini-server.js';
import { OpenAiServer } from '../../../support/servers/vendors/openai-server.js';
import type { Script, VendorServer } from '../../../support/servers/vendors/vendor-server.js';

const database = databaseOfFile(test);
const openai = new OpenAiServer();
const anthropic = new AnthropicServer();
const google = new GeminiServer();
let bench: TurnsBench;
/** Its turns and model calls go by `time`. */
let clocked: TurnsBench;
const time = new ManualTime(new Date().toISOString());

test.serial.before(async () => {
  await openai.start();
  await anthropic.start();
  await google.start();
  const vendors = {
    ...noVendors,
    openai: { apiKey: 'sk-test-0001', baseUrl: openai.baseUrl },
    anthropic: { apiKey: 'sk-ant-test-0001', baseUrl: anthropic.baseUrl },
    google: { apiKey: 'AIza-test-0001', baseUrl: google.baseUrl },
  };
  bench = await startTurns(database, { vendors });
  clocked = await startTurns(database, {
    vendors,
    time,
    clocks: { firstSignalMs: 1_000, idleMs: 1_000, callMs: 3_000 },
  });
});

test.after.always(async () => {
  await openai.stop();
  await anthropic.stop();
  await google.stop();
});

const gpt = 'openai.gpt-4.1-mini';
const claude = 'anthropic.claude-sonnet-4-5';
const chain = { llm: { model: gpt, fallback_models: [claude] } };

async function counted<Result>(work: () => Promise<Result>) {
  const before = [openai, anthropic].map((server: VendorServer) => server.requests.length);
  const result = await work();
  return {
    result,
    openai: openai.requests.length - (before[0] ?? 0),
    anthropic: anthropic.requests.length - (before[1] ?? 0),
  };
}

test.serial('a process that loses its lease during an attempt makes no further one', async (t) => {
  const ports = new RecordingPorts();
  openai.decide = () => {
    ports.owned = false;
    return { status: 500, message: 'broken' };
  };
  const tried = await counted(() =>
    bench.turns.run(bench.start(agentOf(chain), 'x'), ports).catch((error: unknown) => error),
  );
  openai.decide = undefined;
  t.true(tried.result instanceof TurnLost, String(tried.result));
  t.is(tried.openai, 1, 'no retry');
  t.is(tried.anthropic, 0, 'no other model');
});

test.serial('no model is asked while an earlier owner of the turn may still be acting', async (t) => {
  let clear: () => void = () => undefined;
  const clearing = new Promise<void>((resolve) => (clear = resolve));
  let waits = 0;
  const ports = Object.assign(new RecordingPorts(), {
    effectsClear: () => {
      waits += 1;
      return clearing;
    },
  });
  openai.script(saying('Meanwhile.'), saying('At last.'));
  const before = openai.requests.length;
  const turn = () => bench.start(agentOf({ llm: { model: gpt } }), 'x');
  const running = bench.turns.run(turn(), ports);
  await eventually(() => waits > 0, { what: 'the turn waits' });
  // A whole turn takes longer than all that precedes a request.
  const meanwhile = await bench.turns.run(turn(), new RecordingPorts());
  t.like(meanwhile, { outcome: 'COMPLETED', content: 'Meanwhile.' });
  t.is(openai.requests.length, before + 1);
  clear();
  t.like(await running, { outcome: 'COMPLETED', content: 'At last.' });
});

test.serial(
  'a call that the model could not write is no answer: the next model of the chain answers',
  async (t) => {
    const file = new URL(
      '../../../../../test/fixtures/llm/google/malformed-function-call.sse',
      import.meta.url,
    );
    google.byDefault({ garbage: readFileSync(file, 'utf8') });
    anthropic.script(saying('I can write it.'));
    const gemini = 'google.gemini-2.5-flash';
    const stoodIn = await bench.turns.run(
      bench.start(agentOf({ llm: { model: gemini, fallback_models: [claude] } }), 'x'),
      new RecordingPorts(),
    );
    t.like(stoodIn, { outcome: 'COMPLETED', content: 'I can write it.', model: claude });
    const alone = await bench.turns.run(
      bench.start(agentOf({ llm: { model: gemini } }), 'x'),
      new RecordingPorts(),
    );
    t.like(alone, { outcome: 'FAILED', content: '' });
  },
);

test.serial('the next model of the chain replaces a failing one until it has sent text', async (t) => {
  openai.byDefault({ status: 500, message: 'broken' });
  anthropic.script(saying('I stand in.'));
  const stoodIn = await counted(() =>
    bench.turns.run(bench.start(agentOf(chain), 'x'), new RecordingPorts()),
  );
  t.like(stoodIn.result, {
    outcome: 'COMPLETED',
    content: 'I stand in.',
    model: claude,
    provider: 'anthropic',
  });
  t.is(stoodIn.anthropic, 1);
  openai.byDefault(saying('Hello'));
  openai.script({ pieces: ['half ', 'way'], cutAfter: 1 });
  const cut = await counted(() => bench.turns.run(bench.start(agentOf(chain), 'x'), new RecordingPorts()));
  t.like(cut.result, { outcome: 'FAILED', content: 'half ', error: { code: 'provider_error' } });
  t.is(cut.anthropic, 0, 'what was said cannot be taken back');
});

/** Resolves once the vendor has so many requests of the turn. */
type Asked = (times: number) => Promise<unknown>;

test.serial('a time-out of the model ends the turn and never switches the model', async (t) => {
  const run = (scripts: readonly Script[], meanwhile: (asked: Asked) => Promise<void>) =>
    counted(async () => {
      openai.script(...scripts);
      const before = openai.requests.length;
      const running = clocked.turns.run(clocked.start(agentOf(chain), 'x'), new RecordingPorts());
      await meanwhile((times) => eventually(() => openai.requests.length === before + times));
      return running;
    });
  const silent = { pieces: ['late'], hangBeforeHeaders: true };
  const first = await run([silent, silent], async (asked) => {
    await asked(1);
    time.advance(1_000);
    await asked(2);
    time.advance(1_000);
  });
  t.like(first.result, { outcome: 'TIMEOUT', timeoutClock: 'first_signal', content: '' });
  t.is(first.result.steps[0]?.state, 'timeout');
  t.deepEqual([first.openai, first.anthropic], [2, 0], 'the same model is asked once more');
  const again = await run([silent, saying('at last')], async (asked) => {
    await asked(1);
    time.advance(1_000);
  });
  t.like(again.result, { outcome: 'COMPLETED', content: 'at last' });
  const idle = await run([{ pieces: ['one ', 'two'], hangAfter: 1 }], async () => {
    await eventually(() => clocked.said.includes('one '));
    time.advance(1_000);
  });
  t.like(idle.result, { outcome: 'TIMEOUT', timeoutClock: 'idle', content: 'one ' });
  t.deepEqual([idle.openai, idle.anthropic], [1, 0]);
  const drips = Array.from({ length: 1_000 }, () => 'drip ');
  const call = await run([{ pieces: drips, pieceDelayMs: 50 }], async () => {
    for (const stepMs of [900, 900, 900, 300]) {
      const { length } = clocked.said;
      await eventually(() => clocked.said.length > length, { what: 'a further piece' });
      time.advance(stepMs);
    }
  });
  t.like(call.result, { outcome: 'TIMEOUT', timeoutClock: 'call' });
  t.true(call.result.content.startsWith('drip '));
  t.deepEqual([call.openai, call.anthropic], [1, 0]);
});

test.serial(
  'a refusal by the plan or the quota ends the turn with its code and without a vendor request',
  async (t) => {
    const run = (limits: ReturnType<typeof limitsOf>, model: string) =>
      counted(() =>
        bench.turns.run(bench.start(agentOf({ llm: { model } }), 'x', { limits }), new RecordingPorts()),
      );
    const tier = await run(limitsOf('free', {}), 'openai.gpt-4.1');
    t.like(tier.result, {
      outcome: 'FAILED',
      error: { code: 'MODEL_TIER_RESTRICTED' },
      steps: [{ state: 'failed' }],
    });
    const quota = await run(limitsOf('enterprise', { monthly_tokens: 0 }), gpt);
    t.like(quota.result, { outcome: 'FAILED', error: { code: 'quota_exceeded' } });
    t.deepEqual([tier.openai, quota.openai], [0, 0]);
  },
);

test.serial('an admitted turn is served whole although its first round used up the month', async (t) => {
  const http = await startToolServer(t, (_, response) => answerJson(response, {}));
  const scope = await bench.agents.newTenant();
  const agent = agentOf({
    llm: { model: gpt },
    schemas: [{ name: 'look', type: 'api', editor_schema: { api: { url: http.url } } }],
  });
  const limits = limitsOf('enterprise', { monthly_tokens: 1 });
  openai.script(calling(['look', {}]), saying('served'));
  const start = bench.start(agent, 'a question of some words', { scope, limits });
  t.like(await bench.turns.run(start, new RecordingPorts()), { outcome: 'COMPLETED', content: 'served' });
  const next = await bench.turns.run({ ...start, executionId: crypto.randomUUID() }, new RecordingPorts());
  t.like(next, { outcome: 'FAILED', error: { code: 'quota_exceeded' } });
});

test.serial('a signed thought returns to its vendor with the results of its tools', async (t) => {
  const http = await startToolServer(t, (_, response) => answerJson(response, { ok: 1 }));
  anthropic.script({ ...calling(['look', {}]), thinking: ['I must look.'] }, saying('Seen.'));
  const agent = agentOf({
    llm: { model: claude, fallback_models: [gpt] },
    schemas: [{ name: 'look', type: 'api', editor_schema: { api: { url: http.url } } }],
  });
  const start = bench.start(agent, 'x');
  const ports = new RecordingPorts();
  const { result, openai: others } = await counted(() => bench.turns.run(start, ports));
  t.like(result, { outcome: 'COMPLETED', content: 'Seen.' });
  t.is(others, 0);
  const sent = JSON.stringify(anthropic.requests.at(-1)?.body['messages']);
  t.true(sent.includes('sig-of-thought') && sent.includes('I must look.'));
  t.true(sent.includes('tool_result'));

  anthropic.script(saying('Seen again.'));
  const recorded = ports
    .recorded(2)
    .map((step) => (step.kind === 'tool' ? { ...step, state: 'started' as const } : step));
  const again = await bench.turns.run({ ...start, attempt: 2, recorded }, new RecordingPorts());
  t.is(again.content, 'Seen again.');
  t.true(
    JSON.stringify(anthropic.requests.at(-1)?.body['messages']).includes('sig-of-thought'),
    'also after it was recorded',
  );
  t.deepEqual(bench.problems, []);
});
