// Model calls as an agent's turn makes them: a chain of models, tools, the turn's deadline, preset ids.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type pg from 'pg';
import { systemTime } from '../../../../cluster/index.js';
import { FittingCall } from '../../../../src/models/calls/fitting-call.js';
import { type CallOrder, callSources } from '../../../../src/models/calls/index.js';
import { PlatformError } from '../../../../src/kernel/errors.js';
import { AnswerBuilder, type LlmAnswer, LeaveController } from '../../../../src/llm/index.js';
import { limitsOf } from '../../../../src/kernel/plans/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { type CallsRig, orderOf, startCalls } from '../../../support/servers/calls-rig.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ownerView } from '../../../support/database/owner-view.js';
import { AnthropicServer } from '../../../support/servers/vendors/anthropic-server.js';
import { OpenAiServer } from '../../../support/servers/vendors/openai-server.js';

const database = databaseOfFile(test);
const openai = 'openai.gpt-4.1-mini';
const claude = 'anthropic.claude-haiku-4-5';
const servers = { openai: new OpenAiServer(), anthropic: new AnthropicServer() };
let owner: pg.Client;
let rig: CallsRig;

test.serial.before(async () => {
  owner = await ownerView(database.url);
  await servers.openai.start();
  await servers.anthropic.start();
  database.atEnd(async () => {
    await servers.openai.stop();
    await servers.anthropic.stop();
    await owner.end();
  });
});

// One test's observations of a failing vendor must not reach the next. On a busy machine a time-out may also come before
// the vendor received a call, which leaves that call's script in the queue.
test.serial.beforeEach(async () => {
  for (const server of Object.values(servers)) server.clearScripts();
  rig = await startCalls({
    databaseUrl: database.url,
    vendors: {
      openai: { apiKey: 'sk-planted-secret-0001', baseUrl: servers.openai.baseUrl },
      anthropic: { apiKey: 'sk-ant-planted-0002', baseUrl: servers.anthropic.baseUrl },
    },
  });
});

test.serial.afterEach.always(() => rig.close());

interface Done {
  readonly answer: LlmAnswer;
  readonly model: string | undefined;
}

async function run(order: CallOrder, onHeard: () => void = () => undefined): Promise<Done> {
  const call = (await rig.calls.models.prepare(order))();
  const builder = new AnswerBuilder();
  const served = await call.run((events) => {
    for (const event of events) builder.add(event);
    onHeard();
  });
  const origin = {
    vendor: call.target?.model.vendor ?? '',
    model: call.target?.model.id ?? '',
    credentialId: call.target?.credential.id ?? '',
  };
  return { answer: builder.build(origin), model: served?.model };
}

async function rowsOf(tenantId: string) {
  const { rows } = await owner.query(
    `select attempt_id, call_id, attempt_number as number, source, model, outcome from usage_rows
     where tenant_id = $1 order by opened_at, attempt_number`,
    [tenantId],
  );
  return rows;
}

async function toldOf(tenantId: string) {
  const { rows } = await owner.query(
    `select call_source as source, agent_id as agent, session_id as session, execution_id as execution, provider, model,
       first_model as first, status, failure, attempts, input_tokens::int as input, output_tokens::int as output,
       from_cache as cached, input_preview as asked, output_preview as answered
     from calls where tenant_id = $1 order by started_at`,
    [tenantId],
  );
  return rows;
}

async function refusal(t: ExecutionContext, work: Promise<unknown>): Promise<PlatformError> {
  const error = await t.throwsAsync(work, { instanceOf: PlatformError });
  if (error === undefined) throw new Error('it was not refused');
  return error;
}

test.serial('a round with tools returns the message that the next round takes back', async (t) => {
  const scope = await insertTenant(rig.store);
  servers.openai.script({
    pieces: ['I look'],
    toolCalls: [{ id: 'c1', name: 'look', args: ['{"x":', '1}'] }],
  });
  const tools = [{ name: 'look', parameters: { type: 'object' } }];
  const question = { role: 'user', content: [{ type: 'text', text: 'what is there' }] } as const;
  const first = await run(orderOf(scope, { messages: [question], tools }, { source: callSources.toolLoop }));
  t.is(first.answer.stop, 'tool_calls');
  const second = await run(
    orderOf(scope, {
      messages: [
        question,
        { role: 'assistant', content: first.answer.content },
        { role: 'tool', callId: 'c1', name: 'look', content: [{ type: 'text', text: 'a cat' }] },
      ],
      tools,
    }),
  );
  t.is(second.answer.text, 'Hello world');
  const sent = JSON.stringify(servers.openai.requests.at(-1)?.body['messages']);
  t.true(sent.includes('a cat') && sent.includes('"tool_call_id":"c1"'), sent);
  t.deepEqual(
    (await rowsOf(scope.tenantId)).map(({ source }) => source),
    [callSources.toolLoop, callSources.direct],
  );
});

test.serial('the next model of the chain answers after a failure, but not after a time-out', async (t) => {
  const scope = await insertTenant(rig.store);
  servers.openai.script({ status: 500 });
  const fallbackModels = ['nobody.knows-this', claude];
  const done = await run(orderOf(scope, {}, { fallbackModels }));
  t.is(done.model, claude);
  servers.openai.script({ hangAfter: 0 }, { hangAfter: 0 });
  const clocks = { firstSignalMs: 60, idleMs: 5_000, callMs: 5_000 };
  const late = await refusal(t, run(orderOf(scope, {}, { fallbackModels, clocks })));
  t.is(late.code, 'provider_timeout');
  t.like(late.details, { clock: 'first_signal' });
  t.deepEqual(
    (await rowsOf(scope.tenantId)).map(({ model, outcome }) => `${model} ${outcome}`),
    [`${openai} failed`, `${claude} completed`, `${openai} timeout`, `${openai} timeout`],
  );
});

test.serial(
  "the turn's deadline ends a call before the call's own, and no call starts after it",
  async (t) => {
    const scope = await insertTenant(rig.store);
    servers.openai.script({ pieces: ['a', 'b'], hangAfter: 1 });
    const soon = orderOf(scope, {}, { turnDeadlineMs: systemTime.monotonicMs() + 2_000 });
    const late = await refusal(t, run(soon));
    t.like(late.details, { clock: 'turn' });
    const asked = servers.openai.requests.length;
    t.like((await refusal(t, run(soon))).details, { clock: 'turn' });
    t.is(servers.openai.requests.length, asked);
    t.is((await rowsOf(scope.tenantId)).length, 1);
  },
);

test.serial(
  'the attempts of a call have its id and their own, and an aborted call closes its row',
  async (t) => {
    const scope = await insertTenant(rig.store);
    servers.openai.script({ status: 500 }, { pieces: ['a', 'b'], hangAfter: 1 });
    const asked = servers.openai.requests.length;
    const signal = new LeaveController();
    const running = run(orderOf(scope, {}, { signal, executionId: randomUUID() }));
    await eventually(() => servers.openai.requests[asked + 1]?.billed.output === 1);
    signal.leave();
    t.is((await running).model, undefined);
    const rows = await rowsOf(scope.tenantId);
    t.deepEqual(
      rows.map((row) => [row.number, row.outcome]),
      [
        [1, 'failed'],
        [2, 'cancelled'],
      ],
    );
    t.is(new Set(rows.map((row) => row.call_id)).size, 1);
    t.is(new Set(rows.map((row) => row.attempt_id)).size, 2);
  },
);

test.serial('a used-up month refuses new work, but not the rounds of admitted work', async (t) => {
  const scope = await insertTenant(rig.store);
  const limits = limitsOf('free', { monthly_tokens: 0 });
  const model = 'sim.echo';
  const order = orderOf(scope, {}, { limits, model });
  t.is((await refusal(t, rig.calls.models.preflight(order))).code, 'quota_exceeded');
  t.is((await refusal(t, run(order))).code, 'quota_exceeded');
  await rig.calls.models.preflight({ ...order, alreadyAdmitted: true });
  t.is((await run({ ...order, alreadyAdmitted: true })).answer.text, 'echo: say hello');
  const outside = orderOf(scope, {}, { limits, model: 'anthropic.claude-opus-4-5' });
  t.is((await refusal(t, rig.calls.models.preflight(outside))).code, 'MODEL_TIER_RESTRICTED');
});

test.serial('an answer that crosses the month and does not fit is asked for once more', async (t) => {
  const scope = await insertTenant(rig.store);
  const format = { type: 'json_schema', name: 'city', schema: {} } as const;
  const { models } = rig.calls;
  const parts = {
    calls: models,
    fit: {
      of: async (_: unknown, __: unknown, text: string) =>
        text === '1' ? { parsed: 1 } : { mismatch: 'no' },
    },
  };
  const order = orderOf(
    scope,
    { responseFormat: format },
    { limits: limitsOf('free', { monthly_tokens: 1 }) },
  );
  servers.openai.script({ pieces: ['one'] }, { pieces: ['1'] });
  const call = new FittingCall(parts, order, format, (await models.prepare(order))());
  const texts: string[] = [];
  const served = await call.run((events) => {
    for (const event of events) if (event.type === 'content') texts.push(event.text);
  });
  t.deepEqual([served?.stop, texts], ['stop', ['1']]);
  t.is((await rowsOf(scope.tenantId)).length, 2);
  t.is((await refusal(t, run(order))).code, 'quota_exceeded');
});

test.serial(
  'a failed commit of a ledger opening prevents the vendor request, and its reservation is returned',
  async (t) => {
    const scope = await insertTenant(rig.store);
    const request = { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] } as const;
    await run(orderOf(scope, request));
    const asked = servers.openai.requests.length;
    const lost = new Error('the commit was refused');
    const refused = Promise.reject<void>(lost);
    refused.catch(() => undefined);
    let opened = 0;
    const order = orderOf(scope, request, {
      ready: refused,
      // A commit with a lost answer has an unknown outcome: this one was made.
      openWith: async (row) => {
        opened += 1;
        await rig.ledger.open(row);
        throw new Error('no answer');
      },
    });
    t.is(await t.throwsAsync(run(order)), lost);
    t.is(opened, 1);
    t.is(servers.openai.requests.length, asked);
    t.deepEqual(
      (await rowsOf(scope.tenantId)).map(({ outcome }) => outcome),
      ['completed'],
    );
  },
);

test.serial('a reservation holds the bound that the vendor gets, with the thoughts in it', async (t) => {
  const scope = await insertTenant(rig.store);
  const request = { maxTokens: 500, reasoningEffort: 'high' } as const;
  await run(orderOf(scope, request, { model: claude }));
  t.is(servers.anthropic.requests.at(-1)?.body['max_tokens'], 25_076);
  const { rows } = await owner.query(
    'select output_estimate::int as output, cost_estimate::float as cost from usage_rows where tenant_id = $1',
    [scope.tenantId],
  );
  t.is(rows[0]?.output, 25_076);
  // 25,076 × $5 a million, and the prompt.
  t.true(rows[0]?.cost > 0.125 && rows[0]?.cost < 0.126, String(rows[0]?.cost));
});

test.serial('each admitted call leaves one row, whatever its outcome', async (t) => {
  const scope = await insertTenant(rig.store);
  const agentId = randomUUID();
  const sessionId = randomUUID();
  const executionId = randomUUID();
  servers.openai.script({ status: 500 });
  const fallbackModels = [claude];
  await run(
    orderOf(scope, {}, { source: callSources.toolLoop, agentId, sessionId, executionId, fallbackModels }),
  );
  servers.openai.script({ status: 400 });
  await refusal(t, run(orderOf(scope, {})));
  servers.openai.script({ pieces: ['a', 'b'], hangAfter: 1 });
  const signal = new LeaveController();
  let heard = 0;
  const left = run(orderOf(scope, {}, { signal }), () => (heard += 1));
  // What the vendor has sent may still be on its way, and a call that is left by then shows nothing of it.
  await eventually(() => heard > 0);
  signal.leave();
  await left;
  await refusal(t, run(orderOf(scope, {}, { limits: limitsOf('free', { monthly_tokens: 0 }) })));
  const told = await toldOf(scope.tenantId);
  t.deepEqual(told[0], {
    source: 'agent.tool-loop',
    agent: agentId,
    session: sessionId,
    execution: executionId,
    provider: 'anthropic',
    model: claude,
    first: openai,
    status: 'success',
    failure: null,
    attempts: 2,
    input: 4,
    output: 2,
    cached: false,
    asked: 'say hello',
    answered: 'Hello world',
  });
  t.deepEqual(
    told.slice(1).map(({ source, status, failure, answered }) => [source, status, failure, answered]),
    [
      ['Central.LLM.Controller', 'error', 'request', ''],
      ['Central.LLM.Controller', 'success', 'cancelled', 'a'],
    ],
    'the refused call left none',
  );
});

test.serial('a row shows a short part of a call without anything like a credential', async (t) => {
  const scope = await insertTenant(rig.store);
  const key = 'sk-proj-abcdefghijklmnop';
  servers.openai.script({
    pieces: ['the platform has sk-planted-', 'secret-0001 ', 'and more '.repeat(200)],
  });
  const text = `my key is ${key}, ${'x'.repeat(170)} ${key} and so on`;
  await run(orderOf(scope, { messages: [{ role: 'user', content: [{ type: 'text', text }] }] }));
  const [row] = await toldOf(scope.tenantId);
  t.regex(row.asked, /^my key is \[REDACTED\], x+/);
  t.false(row.asked.includes('sk-'), row.asked);
  t.regex(row.answered, /^the platform has \[REDACTED\] and more/);
  t.true(row.asked.length <= 200 && row.answered.length <= 200);
});
