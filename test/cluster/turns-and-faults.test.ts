// Turns with a vendor and a tool over three nodes. Each node has a separate key at the vendor, which therefore sees the
// asking node: the owner of the turn.
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { isSoon } from '../support/clocks/soon.js';
import { ownerView } from '../support/database/owner-view.js';
import { callServed, type NodeProcess, type NodeProcesses, startNodes } from '../support/servers/nodes.js';
import { httpTool, publishAgent } from '../support/builders/published-agents.js';
import {
  answerJson,
  type HeardRequest,
  startToolServer,
  type ToolServer,
} from '../support/servers/tool-servers.js';
import { calling, saying } from '../support/builders/tool-turns.js';
import { readTurn, type SeenEvent, type TurnReading } from '../support/clients/turn-reader.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';
import type { SeenRequest } from '../support/servers/vendors/vendor-server.js';

const model = 'openai.gpt-4.1-mini';
const undo: (() => Promise<void>)[] = [];
const atEnd = { teardown: (work: () => Promise<void>) => void undo.push(work) };
const vendor = new OpenAiServer();
const keyOfNode = new Map<NodeProcess, string>();
let cluster: NodeProcesses;
let tools: ToolServer;
let onTool: (request: HeardRequest, answer: (value: unknown) => void, left: Promise<void>) => void;

test.before(async (t) => {
  t.timeout(300_000);
  await vendor.start();
  undo.push(() => vendor.stop());
  tools = await startToolServer(atEnd, (request, response) => {
    const left = new Promise<void>((resolve) => response.on('close', resolve));
    onTool(request, (value) => answerJson(response, value), left);
  });
  const environment = { OPENAI_BASE_URL: vendor.baseUrl, OPENAI_API_KEY: 'sk-node-0' };
  cluster = await startNodes(atEnd, { count: 1, environment });
  keyOfNode.set(first(), 'sk-node-0');
  await addNode();
  await addNode();
});

test.after.always(async () => {
  for (const step of undo.toReversed()) await step();
});

/** The first that lives: whichever owned a turn may have been killed by the test before. */
function first(): NodeProcess {
  const [node] = alive();
  if (node === undefined) throw new Error('no node lives');
  return node;
}

async function addNode(): Promise<void> {
  const key = `sk-node-${keyOfNode.size}`;
  const node = await cluster.add({ OPENAI_API_KEY: key });
  keyOfNode.set(node, key);
  await cluster.awaitMembers(node, alive().length);
}

function alive(): NodeProcess[] {
  return cluster.nodes.filter(({ program: { process } }) => {
    // One that its own watchdog ended has no exit code either.
    return process.exitCode === null && process.signalCode === null && !process.killed;
  });
}

function ownerOf({ key }: SeenRequest): NodeProcess {
  const node = cluster.nodes.find((one) => keyOfNode.get(one) === key);
  if (node === undefined) throw new Error(`no node has the key ${key}`);
  return node;
}

async function call(node: NodeProcess, method: string, path: string, body?: object) {
  const { json } = await callServed(node, method, path, {
    key: cluster.bootstrap.api_key,
    ...(body === undefined ? {} : { body }),
  });
  return json.data;
}

function say(
  agentId: string,
  body: object,
  { at, onEvent }: { readonly at?: NodeProcess; readonly onEvent?: (event: SeenEvent) => void } = {},
): Promise<TurnReading> {
  const key = cluster.bootstrap.api_key;
  const urls = (): string[] => (at === undefined ? alive() : [at]).map(({ url }) => url);
  return readTurn({ urls, key, agentId, body, ...(onEvent === undefined ? {} : { onEvent }) });
}

interface Told {
  readonly role: string;
  readonly content: unknown;
}

function told({ body }: SeenRequest): readonly Told[] {
  return body['messages'] as Told[];
}

/** The number of earlier model requests in this turn, equal to its number of tool results. */
function roundOf(seen: SeenRequest): number {
  return told(seen).filter(({ role }) => role === 'tool').length;
}

function messageOf(seen: SeenRequest): string {
  return String(told(seen).findLast(({ role }) => role === 'user')?.content);
}

// One after the other: they kill nodes.

test.serial('a cancel on any node closes the vendor call at once', async (t) => {
  t.timeout(120_000);
  const agentId = await publishAgent(first().client, cluster.bootstrap, { model });
  vendor.decide = () => ({ pieces: ['a first', ' word'], hangAfter: 1 });
  for (const node of alive()) {
    const before = vendor.requests.length;
    let sessionId = '';
    let said = false;
    const turn = say(
      agentId,
      { message: 'tell me all of it' },
      {
        onEvent: ({ type, data }) => {
          if (type === 'metadata') sessionId = String(data['session_id']);
          if (type === 'delta') said = true;
        },
      },
    );
    await eventually(() => said);
    t.true((await call(node, 'POST', `/api/v1/sessions/${sessionId}/cancel`)).cancelled);
    await isSoon(t, node, () => vendor.requests[before]?.leftAtMs !== undefined);
    const reading = await turn;
    t.deepEqual(reading.outcomes, ['CANCELLED']);
    t.is(reading.text, 'a first');
    t.is(vendor.requests.length, before + 1);
  }
});

test.serial('a cancel on any node closes the tool call at once', async (t) => {
  t.timeout(120_000);
  const schemas = [httpTool('wait', tools.url)];
  const agentId = await publishAgent(first().client, cluster.bootstrap, { model, schemas });
  vendor.decide = () => calling(['wait', {}]);
  for (const node of alive()) {
    let sessionId = '';
    let called = false;
    let hasLeft = false;
    onTool = (_request, _answer, left) => {
      called = true;
      void left.then(() => (hasLeft = true));
    };
    const turn = say(
      agentId,
      { message: 'use the tool for this' },
      {
        onEvent: ({ type, data }) => {
          if (type === 'metadata') sessionId = String(data['session_id']);
        },
      },
    );
    await eventually(() => called);
    t.true((await call(node, 'POST', `/api/v1/sessions/${sessionId}/cancel`)).cancelled);
    await isSoon(t, node, () => hasLeft);
    t.deepEqual((await turn).outcomes, ['CANCELLED']);
  }
});

test.serial('after its owner is killed a turn repeats no recorded model or tool step', async (t) => {
  t.timeout(300_000);
  const turns = 9;
  const body = { turn: '${args.turn}' };
  // The first that is held waits until the last is.
  const timeout_ms = 120_000;
  const schemas = [
    httpTool('first_step', `${tools.url}/first`, { body, timeout_ms }),
    httpTool('second_step', `${tools.url}/second`, { body, timeout_ms }),
  ];
  const agentId = await publishAgent(first().client, cluster.bootstrap, { model, schemas });
  const asked = new Map<string, number>();
  const used = new Map<string, Set<unknown>[]>();
  const owners = new Map<string, NodeProcess>();
  const count = (what: string): void => void asked.set(what, (asked.get(what) ?? 0) + 1);
  vendor.decide = (seen) => {
    const turn = messageOf(seen);
    const round = roundOf(seen);
    count(`${turn}: model ${round}`);
    owners.set(turn, ownerOf(seen));
    if (round === 2) return saying(`${turn} is done`);
    return calling([round === 0 ? 'first_step' : 'second_step', { turn }]);
  };
  const held: (() => void)[] = [];
  let holding = true;
  onTool = ({ path, body, headers }, answer) => {
    const turn = String((JSON.parse(body) as { turn: unknown }).turn);
    const what = `${turn}: ${path}`;
    count(what);
    used.set(what, [...(used.get(what) ?? []), new Set([headers['idempotency-key']])]);
    const done = (): void => answer({ done: true });
    if (path === '/second' && holding) held.push(done);
    else done();
  };
  const names = Array.from({ length: turns }, (_, index) => `turn number ${index} of these`);
  const reading = Promise.all(names.map((message) => say(agentId, { message })));
  await eventually(() => held.length === turns, {
    timeoutMs: 90_000,
    what: 'all turns are in their second step',
  });
  const [victim] = [...owners.values()].toSorted(
    (one, other) => ownedBy(owners, other).length - ownedBy(owners, one).length,
  );
  const lost = victim === undefined ? [] : ownedBy(owners, victim);
  t.true(lost.length > 0);
  holding = false;
  await victim?.kill();
  for (const done of held) done();
  const readings = await reading;
  for (const [index, { outcomes, response }] of readings.entries()) {
    const turn = names[index] ?? '';
    t.deepEqual(outcomes, ['COMPLETED'], turn);
    t.is(response, `${turn} is done`);
    for (const what of ['model 0', 'model 1', 'model 2', '/first'])
      t.is(asked.get(`${turn}: ${what}`), 1, `${turn}: ${what}`);
    // Requests in progress at the ended process are unknown: they are repeated under the same key.
    t.is(asked.get(`${turn}: /second`), lost.includes(turn) ? 2 : 1, `${turn}: /second`);
    t.is(new Set((used.get(`${turn}: /second`) ?? []).flatMap((keys) => [...keys])).size, 1);
  }
  await addNode();
});

test.serial('a turn without readers continues when its owner is killed', async (t) => {
  t.timeout(180_000);
  const schemas = [httpTool('wait', tools.url)];
  const agentId = await publishAgent(first().client, cluster.bootstrap, { model, schemas });
  vendor.decide = (seen) => (roundOf(seen) === 0 ? calling(['wait', {}]) : saying('done at last'));
  let called = 0;
  onTool = (_request, answer) => {
    called += 1;
    if (called > 1) answer({ done: true });
  };
  const abort = new AbortController();
  const [node] = alive();
  const response = await fetch(`${node?.url}/api/v2/agents/${agentId}/stream`, {
    method: 'POST',
    headers: { 'x-api-key': cluster.bootstrap.api_key, 'content-type': 'application/json' },
    body: JSON.stringify({ message: 'use the tool for this' }),
    signal: abort.signal,
  });
  const id = response.headers.get('x-execution-id');
  await eventually(() => called === 1);
  abort.abort();
  const seen = vendor.requests.at(-1);
  if (seen === undefined) throw new Error('the vendor was not asked');
  await ownerOf(seen).kill();
  const [other] = alive();
  if (other === undefined) throw new Error('there is no node left');
  const path = `/api/v1/executions/${id}`;
  await eventually(async () => (await call(other, 'GET', path)).status === 'completed', {
    timeoutMs: 90_000,
    everyMs: 200,
    what: 'the turn has ended',
  });
  t.is(called, 2);
  await addNode();
});

/** In half a second, after which a node looks for changes that it was not told of, fewer end one after the other. */
const turnsOfAMoment = 30;

function ownedBy(owners: ReadonlyMap<string, NodeProcess>, node: NodeProcess): string[] {
  return [...owners].filter(([, owner]) => owner === node).map(([turn]) => turn);
}

test.serial(
  'a denial on one node is enforced on another within a moment, without a model call',
  async (t) => {
    t.timeout(120_000);
    const agentId = await publishAgent(first().client, cluster.bootstrap, { model });
    vendor.decide = () => saying('at your service');
    const denied = ['somebody', 'somebody-else', 'another'];
    const [one, other] = alive();
    if (one === undefined || other === undefined) throw new Error('there are fewer than two nodes');
    for (const consumer_key of denied) {
      const turn = () => say(agentId, { message: 'are you there?', consumer_key }, { at: other });
      t.deepEqual((await turn()).outcomes, ['COMPLETED']);
      await call(one, 'POST', `/api/v1/consumers/${consumer_key}/deny`, {});
      let answered = 0;
      const isBlocked = async (): Promise<boolean> => (await turn()).outcomes[0] === 'BLOCKED';
      for (; answered < turnsOfAMoment && !(await isBlocked()); answered += 1) await delay(20);
      t.true(answered < turnsOfAMoment, `${answered} turns were answered after the denial`);
    }
    const before = vendor.requests.length;
    for (const node of alive()) {
      const { outcomes } = await say(agentId, { message: 'and now?', consumer_key: denied[0] }, { at: node });
      t.deepEqual(outcomes, ['BLOCKED']);
    }
    t.is(vendor.requests.length, before);
  },
);

test.serial('a timed handoff ends on time, also if the owner is killed in between', async (t) => {
  t.timeout(180_000);
  const agentId = await publishAgent(first().client, cluster.bootstrap, { model });
  vendor.decide = () => saying('at your service');
  const { sessionId } = await say(agentId, { message: 'who is in charge?' });
  const seen = vendor.requests.at(-1);
  if (seen === undefined) throw new Error('the vendor was not asked');
  const victim = ownerOf(seen);
  const path = `/api/v1/sessions/${sessionId}`;
  await call(victim, 'POST', `${path}/handoff`, { expires_in_seconds: 600 });
  await victim.kill();
  const [other] = alive();
  if (other === undefined) throw new Error('there is no node left');
  t.is((await call(other, 'GET', path)).control_mode, 'manual_handoff');
  // Its time comes now: nobody has loaded the session since the kill.
  const owner = await ownerView(cluster.databaseUrl);
  undo.push(() => owner.end());
  await owner.query('update sessions set control_expires_at = clock_timestamp() where id = $1', [sessionId]);
  await eventually(async () => (await call(other, 'GET', path)).control_mode === 'engaged', {
    timeoutMs: 60_000,
    everyMs: 100,
    what: 'the agent leads again',
  });
  t.deepEqual((await say(agentId, { message: 'and now?', session_id: sessionId })).outcomes, ['COMPLETED']);
  await addNode();
});

test.serial(
  'cancelling a queued turn on any node ends it at once, and it stays cancelled after its owner is killed',
  async (t) => {
    t.timeout(180_000);
    // Held while every node cancels a turn behind it.
    const schemas = [httpTool('wait', tools.url, { timeout_ms: 120_000 })];
    const agentId = await publishAgent(first().client, cluster.bootstrap, { model, schemas });
    vendor.decide = () => calling(['wait', {}]);
    let sessionId = '';
    let called = false;
    onTool = () => (called = true);
    const running = say(
      agentId,
      { message: 'the first of them' },
      {
        onEvent: ({ type, data }) => {
          if (type === 'metadata') sessionId = String(data['session_id']);
        },
      },
    );
    await eventually(() => called);
    const cancelWaiting = async (node: NodeProcess): Promise<string> => {
      let id = '';
      const onEvent = ({ type, data }: SeenEvent): void => {
        if (type === 'metadata') id = String(data['execution_id']);
      };
      const waiting = say(agentId, { message: 'one that waits', session_id: sessionId }, { onEvent });
      await eventually(() => id !== '');
      const path = `/api/v1/sessions/${sessionId}/cancel`;
      t.deepEqual(await call(node, 'POST', path, { execution_id: id }), {
        cancelled: true,
        execution_id: id,
      });
      t.deepEqual((await waiting).outcomes, ['CANCELLED']);
      return id;
    };
    const ids: string[] = [];
    for (const node of alive()) ids.push(await cancelWaiting(node));
    const seen = vendor.requests.at(-1);
    if (seen === undefined) throw new Error('the vendor was not asked');
    await ownerOf(seen).kill();
    for (const id of ids) {
      t.is((await call(first(), 'GET', `/api/v1/executions/${id}`)).status, 'cancelled');
      const again = await fetch(`${first().url}/api/v1/executions/${id}/stream`, {
        headers: { 'x-api-key': cluster.bootstrap.api_key },
      });
      t.is((await again.text()).match(/^event: done$/gm)?.length, 1);
    }
    t.false(
      vendor.requests.some((request) => messageOf(request).includes('one that waits')),
      'no model was asked for them',
    );
    // The turn before them ran all the while, and continues at the next owner.
    await eventually(
      async () => (await call(first(), 'POST', `/api/v1/sessions/${sessionId}/cancel`)).cancelled,
      { timeoutMs: 90_000, what: 'the turn is cancelled at its next owner' },
    );
    t.deepEqual((await running).outcomes, ['CANCELLED']);
    await addNode();
  },
);
