// Cancellations and takeovers that arrive while a write of the turn is under way. The session's actor runs on a single node, over real
// tables.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type pg from 'pg';
import { ActorError } from '../../../../cluster/index.js';
import type { RunnableAgent } from '../../../../src/agents/index.js';
import { controlToWire } from '../../../../src/conversations/sessions/wire/session-requests.js';
import { TurnParked } from '../../../../src/conversations/turns/index.js';
import type { TurnsBench } from '../../../support/builders/turns.js';
import { databaseOfFile } from '../../../support/database/database.js';
import {
  type SessionNode,
  type SessionStore,
  startSessionBench,
  startSessionNode,
  turnOf,
} from '../../../support/servers/session-node.js';

const database = databaseOfFile(test);
let bench: TurnsBench;
let view: pg.Client;
let agent: RunnableAgent;

test.serial.before(async () => {
  ({ bench, view, agent } = await startSessionBench(database));
});

type Write = NonNullable<Parameters<SessionStore['write']>[0][number]['write']>;

interface Gate {
  /** Resolves once the write is held. */
  readonly reached: Promise<void>;
  open(): void;
}

/** Holds the first write of this kind until the gate is opened. */
function holding(wanted: (write: Write) => boolean): Gate & { over(store: SessionStore): SessionStore } {
  let [reach, open] = [(): void => undefined, (): void => undefined];
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const opened = new Promise<void>((resolve) => (open = resolve));
  return {
    reached,
    open: () => open(),
    over: (store) => ({
      activate: (request) => store.activate(request),
      combine: store.combine,
      async write(batch) {
        if (batch.some(({ write }) => write !== undefined && wanted(write))) {
          reach();
          await opened;
        }
        return store.write(batch);
      },
    }),
  };
}

interface Rig {
  readonly node: SessionNode;
  readonly executionId: string;
  readonly turn: Promise<readonly string[]>;
}

async function start(
  t: ExecutionContext,
  name: string,
  gate: ReturnType<typeof holding>,
  run: TurnsBench['turns']['run'],
): Promise<Rig> {
  const node = await startSessionNode({
    databaseUrl: database.url,
    bench,
    agent,
    name,
    sessionId: randomUUID(),
    turns: { ...bench.turns, run },
    over: (store) => gate.over(store),
  });
  t.teardown(() => node.stop());
  t.teardown(() => gate.open());
  const executionId = randomUUID();
  return { node, executionId, turn: typesOf(node, executionId) };
}

async function typesOf({ session }: SessionNode, executionId: string): Promise<readonly string[]> {
  const types: string[] = [];
  for await (const { events } of session.run(turnOf(agent, executionId), { deadlineMs: 30_000 }))
    types.push(...events.map(({ event }) => event?.$case ?? ''));
  return types;
}

/** A cancellation that the session has taken up, as its answer to a later call shows; its own answer comes later. */
async function cancelledBy({ node, executionId }: Rig): Promise<{ answer: Promise<unknown> }> {
  const answer = node.session.cancel({ by: 'a test', executionId }, { deadlineMs: 30_000 });
  await node.session.passed({ follower: randomUUID(), barrier: 0 }, { deadlineMs: 30_000 });
  return { answer };
}

async function storedOf(executionId: string): Promise<unknown> {
  const { rows } = await view.query<object>(
    `select e.status, e.outcome, e.cancelled_by,
       (select json_agg(a.status) from approvals a where a.execution_id = e.id) as approvals,
       (select json_agg(m.metadata) from messages m where m.execution_id = e.id and m.role = 'assistant') as answers
     from executions e where e.id = $1`,
    [executionId],
  );
  return rows[0];
}

const parking: TurnsBench['turns']['run'] = () =>
  Promise.reject(
    new TurnParked(
      [{ place: '#2', callId: 'c1', tool: 'pay', arguments: { amount: 5 }, parameters: {} }],
      [],
    ),
  );

test('a cancellation during the write that lets a turn wait ends the turn and voids its approvals', async (t) => {
  const gate = holding(({ approvals }) => approvals !== undefined && approvals.length > 0);
  const rig = await start(t, 'parking', gate, parking);
  await gate.reached;
  const { answer } = await cancelledBy(rig);
  gate.open();
  t.deepEqual(await answer, { executionId: rig.executionId });
  t.is((await rig.turn).at(-1), 'done');
  t.like(await storedOf(rig.executionId), {
    status: 'cancelled',
    outcome: 'CANCELLED',
    cancelled_by: 'a test',
    approvals: ['voided'],
  });
});

test('so does a takeover', async (t) => {
  const gate = holding(({ approvals }) => approvals !== undefined && approvals.length > 0);
  const rig = await start(t, 'taken', gate, parking);
  await gate.reached;
  const change = { change: 'handoff', reason: undefined, by: 'a test', expiresInSeconds: undefined } as const;
  const control = rig.node.session.control(controlToWire({ ...change, ifEpoch: undefined }), {
    deadlineMs: 30_000,
  });
  await rig.node.session.passed({ follower: randomUUID(), barrier: 0 }, { deadlineMs: 30_000 });
  gate.open();
  // This reader does not confirm that it passed on what it has, so it is cut off.
  await t.throwsAsync(rig.turn, { instanceOf: ActorError, message: /did not keep up/ });
  await control;
  t.like(await storedOf(rig.executionId), { outcome: 'SUSPENDED', approvals: ['voided'] });
});

test('a cancellation that is being stored when a turn reaches its end counts', async (t) => {
  const gate = holding(({ executions = [] }) => executions.some(({ cancelled_by: by }) => by !== null));
  let [answered, finish] = [(): void => undefined, (): void => undefined];
  const isAnswered = new Promise<void>((resolve) => (answered = resolve));
  const mayFinish = new Promise<void>((resolve) => (finish = resolve));
  const rig = await start(t, 'ending', gate, async (given, ports) => {
    const end = await bench.turns.run(given, ports);
    answered();
    await mayFinish;
    return end;
  });
  await isAnswered;
  const { answer } = await cancelledBy(rig);
  await gate.reached;
  finish();
  // Its answer comes after the turn has reached its end.
  await rig.node.session.passed({ follower: randomUUID(), barrier: 0 }, { deadlineMs: 30_000 });
  gate.open();
  t.deepEqual(await answer, { executionId: rig.executionId });
  t.is((await rig.turn).at(-1), 'done');
  t.like(await storedOf(rig.executionId), {
    status: 'cancelled',
    outcome: 'CANCELLED',
    answers: [{ partial: true }],
  });
});
