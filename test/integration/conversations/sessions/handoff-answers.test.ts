// A handoff is answered only when no output of a turn is still on its way to a reader.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import type pg from 'pg';
import { systemTime, type Time } from '../../../../cluster/index.js';
import type { RunnableAgent } from '../../../../src/agents/index.js';
import { ChatTurns, type ChatTurnsParts } from '../../../../src/conversations/sessions/chat-turns.js';
import { Sessions } from '../../../../src/conversations/sessions/sessions.js';
import { streamOperations } from '../../../../src/conversations/sessions/stream-operations.js';
import { controlToWire } from '../../../../src/conversations/sessions/wire/session-requests.js';
import { toPlatformError } from '../../../../src/infra/runtime/index.js';
import { openHotReads } from '../../../../src/infra/storage/index.js';
import { LeaveController } from '../../../../src/kernel/leave-signal.js';
import { userOf } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { startEdge } from '../../../support/servers/edge.js';
import {
  type SessionNode,
  startSessionBench,
  startSessionNode,
  turnOf,
} from '../../../support/servers/session-node.js';
import type { TurnsBench } from '../../../support/builders/turns.js';

const database = databaseOfFile(test);
let bench: TurnsBench;
let view: pg.Client;
let agent: RunnableAgent;

test.serial.before(async () => {
  ({ bench, view, agent } = await startSessionBench(database));
});

const within = { deadlineMs: 60_000 };
/** A silent reader is disconnected only after a minute, so that a slow machine changes nothing. */
const patient: Time = { ...systemTime, after: (ms, action) => systemTime.after(ms * 60, action) };

function handOff({ session }: SessionNode): Promise<unknown> {
  const request = controlToWire({
    change: 'handoff',
    reason: undefined,
    by: 'a test',
    expiresInSeconds: undefined,
    ifEpoch: undefined,
  });
  return session.control(request, within);
}

async function isStored(text: string, id: string): Promise<boolean> {
  const { rows } = await view.query<{ is: boolean }>(`${text} where id = $1`, [id]);
  return rows[0]?.is === true;
}

const turnHasEnded = (id: string) =>
  isStored(`select outcome is not distinct from 'COMPLETED' as is from executions`, id);
const isHandedOff = (id: string) =>
  isStored(`select control_mode = 'manual_handoff' as is from sessions`, id);

test('a handoff is answered after the text of a durable turn, also while its ledger row is open', async (t) => {
  const [sessionId, executionId] = [randomUUID(), randomUUID()];
  let closeBooks: () => void = () => undefined;
  const booksClosed = new Promise<void>((resolve) => (closeBooks = resolve));
  const node = await startSessionNode({
    databaseUrl: database.url,
    bench,
    agent,
    sessionId,
    name: 'books',
    turns: {
      summarise: bench.turns.summarise.bind(bench.turns),
      run: (start, ports) =>
        bench.turns.run(start, {
          ...ports,
          onBooking: (booked) => ports.onBooking?.(Promise.all([booked, booksClosed]).then(() => undefined)),
        }),
    },
  });
  t.teardown(() => node.stop());
  const order: string[] = [];
  const turn = turnOf(agent, executionId);
  const reading = (async () => {
    for await (const { events, barrier } of node.session.run(turn, within)) {
      if (barrier > 0) await node.session.passed({ follower: turn.follower, barrier }, within);
      order.push(...events.map(({ event }) => event?.$case ?? '').filter((type) => type === 'response'));
      if (events.some(({ event }) => event?.$case === 'done')) return;
    }
  })();
  await eventually(() => turnHasEnded(executionId), { what: 'the end of the turn is durable' });
  const handed = handOff(node).then(() => order.push('answered'));
  await eventually(() => isHandedOff(sessionId), { what: 'the handoff is durable' });
  // A later durable request is answered: so would be the handoff, if it waited for nothing else.
  await node.session.rename({ consumerDisplayName: 'somebody' }, within);
  closeBooks();
  await Promise.all([reading, handed]);
  t.deepEqual(order, ['response', 'answered']);
});

test("a handoff is answered when the readers of a turn's end have passed it on", async (t) => {
  const [sessionId, executionId] = [randomUUID(), randomUUID()];
  const node = await startSessionNode({
    databaseUrl: database.url,
    bench,
    agent,
    sessionId,
    name: 'readers',
    time: patient,
  });
  t.teardown(() => node.stop());
  const order: string[] = [];
  const events = node.session.run(turnOf(agent, executionId), within);
  for (let isDone = false; !isDone;) {
    const { value } = await events.next();
    isDone = value?.events.some(({ event }) => event?.$case === 'done') ?? true;
  }
  const handed = handOff(node).then(() => order.push('answered'));
  await eventually(() => isHandedOff(sessionId), { what: 'the handoff is durable' });
  order.push('handed on');
  await events.return?.();
  await handed;
  t.deepEqual(order, ['handed on', 'answered']);
});

test('a turn that is still being prepared when the session is handed off does not run', async (t) => {
  const [sessionId, executionId] = [randomUUID(), randomUUID()];
  let prepares = false;
  let goOn: () => void = () => undefined;
  const ran: string[] = [];
  const node = await startSessionNode({
    databaseUrl: database.url,
    bench,
    agent,
    sessionId,
    name: 'preparing',
    runnableAgent: async () => {
      if (ran.length > 0) {
        prepares = true;
        await new Promise<void>((resolve) => (goOn = resolve));
      }
      return agent;
    },
    turns: {
      summarise: bench.turns.summarise.bind(bench.turns),
      run: (start, ports) => {
        ran.push('a turn');
        return bench.turns.run(start, ports);
      },
    },
  });
  t.teardown(() => node.stop());
  const read = async (id: string): Promise<void> => {
    for await (const { events } of node.session.run(turnOf(agent, id), within)) {
      if (events.some(({ event }) => event?.$case === 'done')) return;
    }
  };
  await read(randomUUID());
  const reading = read(executionId);
  await eventually(() => prepares, { what: 'the turn is being prepared' });
  const handed = handOff(node);
  await eventually(() => isHandedOff(sessionId), { what: 'the handoff is durable' });
  goOn();
  await Promise.all([reading, handed]);
  t.true(
    await isStored(`select outcome is not distinct from 'SUSPENDED' as is from executions`, executionId),
  );
  t.is(ran.length, 1);
});

test('a HEAD request for the stream of a turn leaves no reader that a handoff waits for', async (t) => {
  const [sessionId, executionId] = [randomUUID(), randomUUID()];
  let goOn: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (goOn = resolve));
  let asked = 0;
  const node = await startSessionNode({
    databaseUrl: database.url,
    bench,
    agent,
    sessionId,
    name: 'heads',
    time: patient,
    turns: {
      summarise: bench.turns.summarise.bind(bench.turns),
      run: (start, ports) => held.then(() => bench.turns.run(start, ports)),
    },
  });
  t.teardown(() => node.stop());
  const reads = openHotReads({ databaseUrl: database.url, time: systemTime });
  t.teardown(() => reads.close());
  const sessions = new Sessions({
    store: bench.store,
    reads,
    session: () => {
      asked += 1;
      return node.session;
    },
    time: systemTime,
    newId: randomUUID,
    refusalOf: toPlatformError,
  });
  const unasked: unknown = {};
  const chats = new ChatTurns({
    ...(unasked as ChatTurnsParts),
    sessions,
    time: systemTime,
    stopping: new LeaveController(),
    newId: randomUUID,
  });
  const edge = await startEdge(
    streamOperations({ sessions, chats, report: (_, error) => t.fail(String(error)) }),
    {
      caller: userOf(bench.scope, { role: 'owner' }),
    },
  );
  t.teardown(() => edge.close());
  const path = (id: string) => `${edge.url}/api/v1/executions/${id}/stream`;
  await node.session.accept({ turn: turnOf(agent, executionId).turn }, within);

  const head = await fetch(path(executionId), { method: 'HEAD' });
  t.is(head.status, 200);
  t.is(head.headers.get('x-execution-id'), executionId);
  for (const method of ['HEAD', 'GET']) t.is((await fetch(path(randomUUID()), { method })).status, 404);
  let isAnswered = false;
  const handed = handOff(node).then(() => (isAnswered = true));
  // Its failure is that of the test, which waits for the answer below.
  handed.catch(() => undefined);
  await eventually(() => isHandedOff(sessionId), { what: 'the handoff is durable' });
  goOn();
  await eventually(() => isAnswered, { what: 'the answer to the handoff' });
  t.is(asked, 0);
});
