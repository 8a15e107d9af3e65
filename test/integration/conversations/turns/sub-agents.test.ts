// Agents that call other agents.
import test from 'ava';
import { type RecordedStep, TurnLost } from '../../../../src/conversations/turns/index.js';
import { limitsOf } from '../../../../src/kernel/plans/index.js';
import { idOf } from '../../../support/servers/agents.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { answerJson, startToolServer } from '../../../support/servers/tool-servers.js';
import { calling, lastResults, lastTools, saying } from '../../../support/builders/tool-turns.js';
import {
  agentOf,
  noVendors,
  RecordingPorts,
  startTurns,
  type TurnsBench,
} from '../../../support/builders/turns.js';
import { OpenAiServer } from '../../../support/servers/vendors/openai-server.js';
import { servedTime } from '../../../support/clocks/served-time.js';

const database = databaseOfFile(test);
const openai = new OpenAiServer();
let bench: TurnsBench;

test.serial.before(async () => {
  await openai.start();
  const vendors = { ...noVendors, openai: { apiKey: 'sk-test-0001', baseUrl: openai.baseUrl } };
  bench = await startTurns(database, { vendors });
});

test.after.always(() => openai.stop());

const model = 'openai.gpt-4.1-mini';
let names = 0;

/** An agent in the database, with these schemas, published unless it is to stay a draft. */
async function newAgent(
  schemas: readonly object[] = [],
  { publish = true, more = {}, owner = bench.owner } = {},
): Promise<string> {
  const created = await owner.call('POST', '/api/agents', {
    name: `child-${++names}`,
    llm_config: { model, system_prompt: `I am child ${names}.` },
    ...more,
  });
  const id = idOf(created);
  for (const schema of schemas) {
    const made = await owner.call('POST', `/api/agents/${id}/schemas`, schema);
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  }
  if (publish) {
    const published = await owner.call('POST', `/api/agents/${id}/publish`);
    if (published.status !== 200) throw new Error(JSON.stringify(published.body));
  }
  return id;
}

function sub(name: string, agentId: string, more: object = {}) {
  return { name, type: 'agent', editor_schema: { agent: { agent_id: agentId } }, ...more };
}

function parentOf(childId: string, metadata: Readonly<Record<string, unknown>> = {}) {
  return agentOf({ llm: { model }, metadata, schemas: [sub('expert', childId)] });
}

test.serial(
  'a sub-agent answers as a tool: one step of its parent, with its usage and its own tools',
  async (t) => {
    const http = await startToolServer(t, (_, response) => answerJson(response, { degrees: 21 }));
    const child = await newAgent([
      { name: 'weather', type: 'api', editor_schema: { api: { url: `${http.url}/\${context.city}` } } },
    ]);
    openai.script(
      calling(['expert', { message: 'How warm is it?' }]),
      calling(['weather', {}]),
      saying('It is ', '21.'),
      saying('The expert says 21.'),
    );
    const ports = new RecordingPorts();
    const start = bench.start(parentOf(child), 'ask the expert', { toolContext: { city: 'Bonn' } });
    const before = openai.requests.length;
    const end = await bench.turns.run(start, ports);
    t.like(end, { outcome: 'COMPLETED', content: 'The expert says 21.', toolCalls: 1 });
    t.is(http.heard[0]?.path, '/Bonn', 'it reads what its parent may read');
    t.regex(
      String(http.heard[0]?.headers['idempotency-key']),
      new RegExp(`^${start.executionId}:2:0:2:0:[0-9a-f]{16}$`),
    );
    const asked = openai.requests.slice(before).map(({ body }) => JSON.stringify(body));
    t.is(asked.length, 4);
    t.true(asked[1]?.includes('I am child') && asked[1].includes('How warm is it?'));
    t.false(
      asked[1]?.includes('ask the expert'),
      'it knows what it is asked, and nothing of the conversation',
    );
    t.deepEqual(lastTools(openai), ['expert']);
    t.deepEqual(lastResults(openai), ['It is 21.']);
    t.is(ports.text, end.content, 'readers are told what the agent itself says');
    const steps = ports.recorded(undefined, end);
    t.deepEqual(
      steps.map(({ number, kind, name }) => [number, kind, name]),
      [
        [1, 'model', 'agent.tool-loop'],
        [2, 'tool', 'expert'],
        [3, 'model', 'agent.tool-loop'],
      ],
    );
    t.is(
      end.usage.outputVisible,
      openai.requests.slice(before).reduce((sum, { billed }) => sum + billed.output, 0),
    );
    const detail = steps[1]?.detail;
    t.true(detail?.step === 'tool' && (detail.usage?.outputVisible ?? 0) > 0 && (detail.cost ?? 0) > 0);
    t.is(detail?.step === 'tool' && detail.agentId, child);
    t.deepEqual(
      detail?.step === 'tool' && detail.steps?.map(({ kind, name, state }) => [kind, name, state]),
      [
        ['model', 'agent.tool-loop', 'finished'],
        ['tool', 'weather', 'finished'],
        ['model', 'agent.tool-loop', 'finished'],
      ],
    );

    const asks = openai.requests.length;
    const again = await bench.turns.run({ ...start, attempt: 2, recorded: steps }, new RecordingPorts());
    t.is(openai.requests.length, asks);
    t.deepEqual([again.usage, again.cost], [end.usage, end.cost]);
  },
);

test.serial('a slow sub-agent is reported to the model, and the turn continues', async (t) => {
  const child = await newAgent();
  openai.script(
    calling(['expert', { message: 'q' }]),
    { pieces: ['half ', 'way'], hangAfter: 1 },
    saying('Without the expert.'),
  );
  const ports = new RecordingPorts();
  const agent = parentOf(child, { security_policy: { child_timeout_ms: 2_000 } });
  const end = await bench.turns.run(bench.start(agent, 'ask'), ports);
  t.like(end, { outcome: 'COMPLETED', content: 'Without the expert.' });
  t.regex(lastResults(openai)[0] ?? '', /did not answer in time \(2000 ms\)\. So far it said:\nhalf/);
  t.is(ports.recorded().find(({ name }) => name === 'expert')?.state, 'timeout');
});

test.serial('agents are nested five deep and no deeper', async (t) => {
  const child = await newAgent();
  openai.script(calling(['expert', { message: 'q' }]), saying('child'), saying('done'));
  const fourth = await bench.turns.run(bench.start(parentOf(child), 'x', { depth: 4 }), new RecordingPorts());
  t.is(fourth.content, 'done');
  t.deepEqual(lastResults(openai), ['child']);
  openai.script(calling(['expert', { message: 'q' }]), saying('alone'));
  const fifth = await bench.turns.run(bench.start(parentOf(child), 'x', { depth: 5 }), new RecordingPorts());
  t.is(fifth.content, 'alone');
  t.regex(lastResults(openai)[0] ?? '', /5 deep/);
});

test.serial(
  'only a draft may ask a draft, and nobody a deleted agent or one of another tenant',
  async (t) => {
    const draft = await newAgent([], { publish: false });
    const published = parentOf(draft);
    openai.script(calling(['expert', { message: 'q' }]), saying('a'));
    await bench.turns.run(bench.start(published, 'x'), new RecordingPorts());
    t.deepEqual(lastResults(openai), ['The agent is not available.']);
    openai.script(calling(['expert', { message: 'q' }]), saying('from the draft'), saying('b'));
    await bench.turns.run(
      bench.start({ ...published, version: null, approved: new Map() }, 'x'),
      new RecordingPorts(),
    );
    t.deepEqual(lastResults(openai), ['from the draft']);
    const live = await newAgent();
    openai.script(calling(['expert', { message: 'q' }]), saying('c'));
    const elsewhere = bench.start(parentOf(live), 'x', { scope: await bench.agents.newTenant() });
    await bench.turns.run(elsewhere, new RecordingPorts());
    t.deepEqual(lastResults(openai), ['The agent is not available.']);
  },
);

test.serial('a cancel reaches the model of a sub-agent, and a failing one is reported', async (t) => {
  const child = await newAgent();
  const begun = 'what the child began to say';
  openai.script(calling(['expert', { message: 'marker-child' }]), { pieces: [begun, 'b'], hangAfter: 1 });
  const ports = new RecordingPorts();
  const running = bench.turns.run(bench.start(parentOf(child), 'x'), ports);
  const asked = await eventually(() =>
    openai.requests.findLast(({ body }) =>
      JSON.stringify((body['messages'] as unknown[]).at(-1)).includes('marker-child'),
    ),
  );
  // Before the first word it is unknown whether a vendor has accepted the call, and it counts nothing.
  await eventually(() => bench.said.includes(begun));
  const servedMs = servedTime(t);
  ports.end('cancelled');
  // Not until the end of the turn, which waits for the store.
  await eventually(() => asked.leftAtMs);
  t.true(servedMs() < 1_000);
  const cancelled = await running;
  t.like(cancelled, { outcome: 'CANCELLED', content: '' });
  const billed = openai.requests.at(-2)?.billed.input ?? Infinity;
  t.true(cancelled.usage.inputUncached > billed, 'more than the first round, which is all that ended');

  openai.script(calling(['expert', { message: 'q' }]), { status: 400, message: 'no' }, saying('sorry'));
  t.is((await bench.turns.run(bench.start(parentOf(child), 'x'), new RecordingPorts())).content, 'sorry');
  t.regex(lastResults(openai)[0] ?? '', /^The agent could not answer: /);
});

test.serial(
  'an interrupted sub-agent is asked again only if all its actions are safe to repeat',
  async (t) => {
    const http = await startToolServer(t, (_, response) => answerJson(response, {}));
    const tool = (name: string, method: string) => ({
      name,
      type: 'api',
      editor_schema: { api: { url: `${http.url}/${name}`, method } },
    });
    const harmless = await newAgent([tool('read', 'GET')]);
    const above = await newAgent([sub('reader', harmless)]);
    const harmful = await newAgent([tool('read', 'GET'), tool('write', 'POST')]);
    const aboveHarmful = await newAgent([sub('writer', harmful)]);
    for (const [child, again] of [
      [harmless, true],
      [above, true],
      [harmful, false],
      [aboveHarmful, false],
    ] as const) {
      const start = bench.start(parentOf(child), 'x');
      openai.clearScripts();
      openai.script(calling(['expert', { message: 'q' }]), saying('child'));
      const dying = new RecordingPorts().onRecord((count) => {
        if (count === 3) throw new Error('the process died');
      });
      await t.throwsAsync(bench.turns.run(start, dying), { instanceOf: TurnLost });
      const known: readonly RecordedStep[] = dying.recorded(2);
      openai.script(...(again ? [saying('child again')] : []), saying('done'));
      const end = await bench.turns.run({ ...start, attempt: 2, recorded: known }, new RecordingPorts());
      t.is(end.content, 'done');
      const [told = ''] = lastResults(openai);
      if (again) t.is(told, 'child again');
      else t.regex(told, /^The outcome of this call is unknown/);
    }
    t.deepEqual(bench.problems, []);
  },
);

test.serial('of many ways to an agent, one is enough to know whether it may be asked again', async (t) => {
  const ways = (id: string) => Array.from({ length: 8 }, (_, way) => sub(`way-${way}`, id));
  const last = await newAgent();
  const second = await newAgent(ways(last));
  const first = await newAgent(ways(second));
  const start = bench.start(parentOf(first), 'x');
  openai.clearScripts();
  openai.script(calling(['expert', { message: 'q' }]), saying('child'));
  const dying = new RecordingPorts().onRecord((count) => {
    if (count === 3) throw new Error('the process died');
  });
  await t.throwsAsync(bench.turns.run(start, dying), { instanceOf: TurnLost });
  openai.script(saying('child again'), saying('done'));
  const before = bench.agentsRead.length;
  await bench.turns.run({ ...start, attempt: 2, recorded: dying.recorded(2) }, new RecordingPorts());
  t.deepEqual(bench.agentsRead.slice(before), [first, second, last]);
});

test.serial('one message uses a bounded number of agents, those that its agents ask included', async (t) => {
  const sim = (name: string) => ({ more: { llm_config: { model: name } } });
  const names = Array.from({ length: 11 }, (_, at) => `a${at}`);
  const leaf = await newAgent([], sim('sim.echo'));
  const middle = await newAgent(
    names.map((name) => sub(name, leaf)),
    sim('sim.tools'),
  );
  const root = agentOf({ llm: { model: 'sim.tools' }, schemas: names.map((name) => sub(name, middle)) });
  const ports = new RecordingPorts();
  const end = await bench.turns.run(bench.start(root, names.join(' ')), ports);
  t.is(end.outcome, 'COMPLETED');
  const leaves = ports
    .recorded(undefined, end)
    .flatMap(({ detail }) => (detail?.step === 'tool' ? (detail.steps ?? []) : []))
    .filter(({ kind }) => kind === 'tool');
  t.is(leaves.length, names.length ** 2, 'every call has a step');
  const answered = leaves.filter(({ state }) => state === 'finished').length;
  t.is(answered + names.length, 100);
  t.is(leaves.filter(({ state }) => state === 'failed').length, leaves.length - answered);
});

test.serial('a sub-agent with named parameters receives them, one without receives a message', async (t) => {
  const child = await newAgent();
  const parameters = { type: 'object', properties: { city: { type: 'string' } } };
  const agent = agentOf({
    llm: { model },
    schemas: [sub('expert', child, { parameters }), sub('plain', child)],
  });
  openai.script(calling(['expert', { city: 'Bonn' }]), saying('child'), saying('done'));
  await bench.turns.run(bench.start(agent, 'x'), new RecordingPorts());
  const tools = openai.requests.at(-1)?.body['tools'] as { function: { parameters: unknown } }[];
  t.like(tools[0]?.function.parameters, parameters);
  t.like(tools[1]?.function.parameters, { required: ['message'] });
  t.true(JSON.stringify(openai.requests.at(-2)?.body).includes(String.raw`{\"city\":\"Bonn\"}`));
});

/** A tenant with its own key for the parent's model; its sub-agent's model is paid for by the platform. */
async function withOwnKey() {
  const scope = await bench.agents.newTenant();
  const owner = bench.agents.person(scope, 'owner');
  const key = { name: 'own', kind: 'llm_key', provider: 'openai', value: 'sk-own-0001' };
  const kept = await owner.call('POST', '/api/secrets', key);
  if (kept.status !== 201) throw new Error(JSON.stringify(kept.body));
  return { scope, child: await newAgent([], { owner, more: { llm_config: { model: 'sim.echo' } } }) };
}

const usedUp = /^The agent could not answer: The quota is used up/;

test.serial('a used-up month refuses a sub-agent whose caller runs on a key of the tenant', async (t) => {
  const { scope, child } = await withOwnKey();
  const limits = limitsOf('free', { monthly_tokens: 0 });
  const http = await startToolServer(t, (_, response) => answerJson(response, {}));
  const read = { name: 'read', type: 'api', editor_schema: { api: { url: `${http.url}/read` } } };
  const agent = agentOf({ llm: { model }, schemas: [read, sub('expert', child)] });
  openai.script(calling(['read', {}]), calling(['expert', { message: 'q' }]), saying('Without it.'));
  const start = bench.start(agent, 'x', { scope, limits });
  const ports = new RecordingPorts();
  const end = await bench.turns.run(start, ports);
  t.like(end, { outcome: 'COMPLETED', content: 'Without it.' });
  t.is(openai.requests.at(-1)?.key, 'sk-own-0001');
  t.regex(lastResults(openai)[1] ?? '', usedUp);

  // Another process goes on after the first tool.
  openai.script(calling(['expert', { message: 'q' }]), saying('Without it.'));
  await bench.turns.run({ ...start, attempt: 2, recorded: ports.recorded(3) }, new RecordingPorts());
  t.regex(lastResults(openai)[1] ?? '', usedUp);
});

test.serial(
  'a turn that the month admitted with a sub-agent is served whole, and the next is not',
  async (t) => {
    const { scope, child } = await withOwnKey();
    const limits = limitsOf('free', { monthly_tokens: 1 });
    const start = bench.start(parentOf(child), 'x', { scope, limits });
    openai.script(
      calling(['expert', { message: 'a' }]),
      calling(['expert', { message: 'b' }]),
      saying('done'),
    );
    const ports = new RecordingPorts();
    const end = await bench.turns.run(start, ports);
    t.deepEqual(lastResults(openai), ['echo: a', 'echo: b']);
    // The same in a process that knows the first answer from its record.
    const known = ports.recorded(undefined, end).filter(({ number }) => number <= 2);
    openai.script(calling(['expert', { message: 'b' }]), saying('done'));
    await bench.turns.run({ ...start, attempt: 2, recorded: known }, new RecordingPorts());
    t.deepEqual(lastResults(openai), ['echo: a', 'echo: b']);
    // Records of versions that did not note who paid count as paid by the platform.
    const withoutPayer = (name: string, value: unknown) => (name === 'admitted' ? undefined : value);
    const older = JSON.parse(JSON.stringify(known.slice(0, 1), withoutPayer)) as RecordedStep[];
    await bench.turns.run({ ...start, attempt: 2, recorded: older }, new RecordingPorts());
    t.is(lastResults(openai)[0], 'echo: a');

    openai.script(calling(['expert', { message: 'c' }]), saying('done'));
    await bench.turns.run(bench.start(parentOf(child), 'x', { scope, limits }), new RecordingPorts());
    t.regex(lastResults(openai)[0] ?? '', usedUp);
  },
);

test.serial(
  'a used-up month refuses the later round of a turn that only the platform can pay for',
  async (t) => {
    const { scope } = await withOwnKey();
    const limits = limitsOf('free', { monthly_tokens: 0 });
    const http = await startToolServer(t, (_, response) => answerJson(response, {}));
    const read = { name: 'read', type: 'api', editor_schema: { api: { url: `${http.url}/read` } } };
    const agent = agentOf({ llm: { model, fallback_models: ['sim.echo'] }, schemas: [read] });
    openai.script(calling(['read', {}]));
    openai.byDefault({ status: 500 });
    t.teardown(() => openai.byDefault(saying('Hello')));
    const end = await bench.turns.run(bench.start(agent, 'x', { scope, limits }), new RecordingPorts());
    t.like(end, { outcome: 'FAILED', error: { code: 'quota_exceeded' } });
  },
);
