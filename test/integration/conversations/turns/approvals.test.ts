// A turn with calls that people approve, cut off at any point after the decision: no approved call is made twice.
import test from 'ava';
import {
  type ApprovalDecisions,
  type RecordedStep,
  TurnLost,
  TurnParked,
  type TurnStart,
} from '../../../../src/conversations/turns/index.js';
import { calling, lastResults, saying } from '../../../support/builders/tool-turns.js';
import {
  agentOf,
  noVendors,
  RecordingPorts,
  startTurns,
  type TurnsBench,
} from '../../../support/builders/turns.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { bookedFor } from '../../../support/database/usage-rows.js';
import { answerJson, startToolServer } from '../../../support/servers/tool-servers.js';
import { OpenAiServer } from '../../../support/servers/vendors/openai-server.js';
import { billOf } from '../../../support/servers/vendors/vendor-server.js';

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

function api(name: string, url: string, more: object = {}) {
  return { name, type: 'api', editor_schema: { api: { url: `${url}/${name}`, method: 'POST' }, ...more } };
}

/** The approvals of a turn that parks, and what its session has recorded then. */
async function parked(start: TurnStart, ports = new RecordingPorts()) {
  const error = await bench.turns.run(start, ports).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof TurnParked)) throw new Error('the turn does not wait', { cause: error });
  return { approvals: error.approvals, recorded: merged([...ports.recorded(), ...error.steps]) };
}

/** The last version of each step, as the store holds it. */
function merged(steps: readonly RecordedStep[]): readonly RecordedStep[] {
  const last = new Map(steps.map((step) => [step.number, step]));
  return [...last.values()].toSorted((one, other) => one.number - other.number);
}

function approved(places: readonly string[]): ApprovalDecisions {
  return new Map(places.map((place) => [place, { approved: true, arguments: undefined }]));
}

test.serial(
  'a turn waits before any call of its round is made, and goes on with the same calls',
  async (t) => {
    const http = await startToolServer(t, ({ path }, response) => answerJson(response, { path }));
    const agent = agentOf({
      llm: { model },
      schemas: [api('look', http.url), api('pay', http.url, { approval: 'always' })],
    });
    openai.script(calling(['look', {}], ['pay', { amount: 1 }], ['pay', 'no json']), saying('Done.'));
    const start = bench.start(agent, 'do it');
    const { approvals, recorded } = await parked(start);
    t.deepEqual(http.heard, []);
    t.deepEqual(
      approvals.map(({ tool, place, arguments: args }) => [tool, place, args]),
      [['pay', '#3', { amount: 1 }]],
    );
    const end = await bench.turns.run(
      { ...start, recorded, approvals: approved(['#3']) },
      new RecordingPorts(),
    );
    t.is(end.outcome, 'COMPLETED');
    t.deepEqual(http.heard.map(({ path }) => path).toSorted(), ['/look', '/pay']);
  },
);

test.serial('the clock of a turn leaves out the time that it waited for people', async (t) => {
  const http = await startToolServer(t, ({ path }, response) => answerJson(response, { path }));
  const agent = agentOf({ llm: { model }, schemas: [api('pay', http.url, { approval: 'always' })] });
  openai.script(calling(['pay', {}]), calling(['pay', {}]), saying('Done.'));
  const start = bench.start(agent, 'do it', { deadlineMs: 20_000 });
  const day = 86_400_000;
  const first = await parked(start);
  // As if the first part had been a day ago.
  const earlier = first.recorded.map((step) => ({
    ...step,
    startedAt: new Date(Date.parse(step.startedAt) - day).toISOString(),
    finishedAt: step.finishedAt === null ? null : new Date(Date.parse(step.finishedAt) - day).toISOString(),
  }));
  const waits = [{ fromMs: Date.now() - day, toMs: Date.now() }];
  const second = await parked({ ...start, recorded: earlier, approvals: approved(['#2']), waits });
  const recorded = merged([...earlier, ...second.recorded]);
  const approvals = approved(['#2', '#4']);
  const end = await bench.turns.run({ ...start, recorded, approvals, waits }, new RecordingPorts());
  t.is(end.outcome, 'COMPLETED');
  const without = await bench.turns.run({ ...start, recorded, approvals }, new RecordingPorts());
  t.is(without.outcome, 'TIMEOUT');
});

async function newAgent(name: string, schemas: readonly object[]): Promise<string> {
  const call = async (path: string, body: object = {}): Promise<string> => {
    const answer = await bench.owner.call('POST', path, body);
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
    return (answer.body.data as { readonly id: string }).id;
  };
  const id = await call('/api/agents', { name, llm_config: { model } });
  for (const schema of schemas) await call(`/api/agents/${id}/schemas`, schema);
  await call(`/api/agents/${id}/publish`);
  return id;
}

test.serial(
  'each request is booked if a sub-agent runs again, waits, and its starts are counted anew',
  async (t) => {
    const http = await startToolServer(t, ({ path }, response) => answerJson(response, { path }));
    const put = (name: string) => ({ api: { url: `${http.url}/${name}`, method: 'PUT' } });
    const cashier = await newAgent('repeated', [
      api('look', http.url, put('look')),
      api('pay', http.url, { ...put('pay'), approval: 'always' }),
    ]);
    const schemas = [{ name: 'cashier', type: 'agent', editor_schema: { agent: { agent_id: cashier } } }];
    const start = bench.start(agentOf({ llm: { model }, schemas }), 'do it');
    const before = openai.requests.length;

    openai.script(calling(['cashier', { message: 'pay' }]), calling(['look', {}]), saying('Not yet.'));
    const dying = new RecordingPorts().onRecord((count) => {
      if (count === 3) throw new Error('the process died');
    });
    await t.throwsAsync(bench.turns.run(start, dying), { instanceOf: TurnLost });

    openai.script(calling(['pay', {}]));
    const known = dying.recorded(2);
    const waiting = await parked({ ...start, attempt: 2, recorded: known });
    const decisions = approved(waiting.approvals.map(({ place }) => place));

    openai.script(saying('Paid.'), saying('Done.'));
    const recorded = merged([...known, ...waiting.recorded]);
    const end = await bench.turns.run(
      { ...start, attempt: 1, recorded, approvals: decisions },
      new RecordingPorts(),
    );
    t.like(end, { outcome: 'COMPLETED', content: 'Done.' });
    const asked = openai.requests.slice(before);
    t.is(asked.length, 6);
    t.deepEqual(await bookedFor(database.url, start.executionId), billOf(asked));
  },
);

/** An agent that asks a cashier, whose payments people approve. */
async function askingCashier(name: string, url: string) {
  const cashier = await newAgent(name, [api('pay', url, { approval: 'always' })]);
  const schemas = [{ name: 'cashier', type: 'agent', editor_schema: { agent: { agent_id: cashier } } }];
  return { cashier, agent: agentOf({ llm: { model }, schemas }) };
}

for (const change of ['published anew', 'unpublished'] as const) {
  test.serial(
    `an approved call is that of the version that asked, when its agent was ${change}`,
    async (t) => {
      const http = await startToolServer(t, ({ path }, response) => answerJson(response, { path }));
      const { cashier, agent } = await askingCashier(`cashier-${change.split(' ')[0]}`, http.url);
      openai.script(calling(['cashier', { message: 'pay' }]), calling(['pay', {}]));
      const start = bench.start(agent, 'do it');
      const { approvals, recorded } = await parked(start);
      if (change === 'published anew') {
        const { body } = await bench.owner.call('GET', `/api/agents/${cashier}/schemas`);
        const [schema] = body.data as readonly { readonly id: string }[];
        const { editor_schema } = api('refund', http.url, { approval: 'always' });
        const path = `/api/agents/${cashier}/schemas/${schema?.id}`;
        t.is((await bench.owner.call('PATCH', path, { editor_schema })).status, 200);
        t.is((await bench.owner.call('POST', `/api/agents/${cashier}/publish`)).status, 200);
      } else t.is((await bench.owner.call('POST', `/api/agents/${cashier}/unpublish`)).status, 200);
      openai.script(saying('Paid.'), saying('Done.'));
      const decisions = approved(approvals.map(({ place }) => place));
      const end = await bench.turns.run({ ...start, recorded, approvals: decisions }, new RecordingPorts());
      t.like(end, { outcome: 'COMPLETED', content: 'Done.' });
      t.deepEqual(
        http.heard.map(({ path }) => path),
        ['/pay'],
      );
    },
  );
}

for (const [childMs, outcome] of [
  [9_500, 'COMPLETED'],
  [19_000, 'TIMEOUT'],
] as const) {
  test.serial(
    `of 20 s, 2 and then ${childMs / 1_000} by a sub-agent before it waited: ${outcome}`,
    async (t) => {
      const http = await startToolServer(t, ({ path }, response) => answerJson(response, { path }));
      const { agent } = await askingCashier(`cashier-${childMs}`, http.url);
      openai.clearScripts();
      openai.script(calling(['cashier', { message: 'pay' }]), calling(['pay', {}]));
      const start = bench.start(agent, 'do it', { deadlineMs: 20_000 });
      const { approvals, recorded } = await parked(start);
      // As if all of it had been a day ago.
      const begunAtMs = Date.now() - 86_400_000;
      const between = (step: RecordedStep, fromMs: number, toMs: number): RecordedStep => ({
        ...step,
        startedAt: new Date(begunAtMs + fromMs).toISOString(),
        finishedAt: step.finishedAt === null ? null : new Date(begunAtMs + toMs).toISOString(),
      });
      const earlier = recorded.map((step) => {
        if (step.detail?.step !== 'tool') return between(step, 0, 2_000);
        const steps = step.detail.parked?.map((child) => between(child, 2_000, 2_000 + childMs)) ?? [];
        return { ...between(step, 2_000, 2_000), detail: { ...step.detail, parked: steps } };
      });
      const waits = [{ fromMs: begunAtMs + 2_000 + childMs, toMs: Date.now() }];
      openai.script(saying('Paid.'), saying('Done.'));
      const decisions = approved(approvals.map(({ place }) => place));
      const again = { ...start, recorded: earlier, approvals: decisions, waits };
      t.is((await bench.turns.run(again, new RecordingPorts())).outcome, outcome);
      if (outcome === 'COMPLETED') t.deepEqual(lastResults(openai), ['Paid.']);
    },
  );
}

for (const nested of [false, true]) {
  const whose = nested ? 'a sub-agent' : 'a turn';
  test.serial(`an approved call of ${whose} is made at most once, wherever its process dies`, async (t) => {
    const http = await startToolServer(t, ({ path }, response) => answerJson(response, { path }));
    const tools = [api('look', http.url), api('pay', http.url, { approval: 'always' })];
    const cashier = async () => ({
      name: 'cashier',
      type: 'agent',
      editor_schema: { agent: { agent_id: await newAgent('cashier', tools) } },
    });
    const agent = agentOf({ llm: { model }, schemas: nested ? [await cashier()] : tools });
    // Each model by what it was told, since it is asked again in any place.
    openai.decide = ({ body }) => {
      const messages = body['messages'] as readonly { role: string; content: unknown }[];
      const offered = JSON.stringify(body['tools']);
      const results = messages.filter(({ role }) => role === 'tool').length;
      if (offered.includes('cashier'))
        return results === 0 ? calling(['cashier', { message: 'pay' }]) : saying('Done.');
      return [calling(['look', {}]), calling(['pay', { amount: 1 }]), saying('Paid.')][results];
    };
    t.teardown(() => {
      openai.decide = undefined;
    });
    const start = bench.start(agent, 'do it');
    const waiting = await parked(start);
    t.deepEqual(
      http.heard.map(({ path }) => path),
      ['/look'],
    );
    const [approval] = waiting.approvals;
    const decided = { ...start, approvals: approved([approval?.place ?? 'none']) };
    let cuts = 0;
    for (let cut = 1; ; cut += 1) {
      let isWhole = false;
      for (const written of [false, true]) {
        const note = `cut at record ${cut}, ${written ? 'written' : 'not written'}`;
        const before = http.heard.length;
        const dying = new RecordingPorts().onRecord((count) => {
          if (count === cut) throw new Error('the process died');
        });
        const first = await bench.turns.run({ ...decided, recorded: waiting.recorded }, dying).then(
          () => 'ended',
          (error: unknown) => error,
        );
        isWhole = first === 'ended';
        if (!isWhole) t.true(first instanceof TurnLost, note);
        else if (written) break;
        const known = merged([...waiting.recorded, ...dying.recorded(written ? cut : cut - 1)]);
        const end = isWhole
          ? undefined
          : await bench.turns.run({ ...decided, recorded: known, attempt: 2 }, new RecordingPorts());
        if (end !== undefined) t.is(end.outcome, 'COMPLETED', note);
        const made = http.heard.slice(before).map(({ path }) => path);
        t.true(made.length <= 1, `${note}: ${made.join()}`);
        t.false(made.includes('/look'), note);
        if (isWhole) t.deepEqual(made, ['/pay'], note);
        else cuts += 1;
      }
      if (isWhole) break;
    }
    t.true(cuts >= 4, `${cuts}`);
  });
}
