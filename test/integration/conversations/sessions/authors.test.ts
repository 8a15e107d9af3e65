// The author of a message is stored with its turn, and checked by the session's owner.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import type pg from 'pg';
import type { RunnableAgent } from '../../../../src/agents/index.js';
import type { Author } from '../../../../src/conversations/invocation/index.js';
import type { SessionActorParts } from '../../../../src/conversations/sessions/parts.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ownerView } from '../../../support/database/owner-view.js';
import {
  echoingAgent,
  type SessionNode,
  startSessionNode,
  turnOf,
} from '../../../support/servers/session-node.js';
import { startTurns, type TurnsBench } from '../../../support/builders/turns.js';

const database = databaseOfFile(test);
const within = { deadlineMs: 60_000 };
let bench: TurnsBench;
let view: pg.Client;
let agent: RunnableAgent;

test.serial.before(async () => {
  bench = await startTurns(database);
  view = await ownerView(database.url);
  database.atEnd(() => view.end());
  agent = await echoingAgent(bench);
});

const start = (sessionId: string, name: string, turns?: SessionActorParts['turns']): Promise<SessionNode> =>
  startSessionNode({
    databaseUrl: database.url,
    bench,
    agent,
    sessionId,
    name,
    ...(turns !== undefined && { turns }),
  });

type Wanted = NonNullable<ReturnType<typeof turnOf>['turn']>;

function accept(node: SessionNode, author: Author, changes: Partial<Wanted> = {}): Promise<unknown> {
  const { turn } = turnOf(agent, randomUUID(), author);
  if (turn === undefined) throw new Error('there is a turn');
  return node.session.accept({ turn: { ...turn, ...changes } }, within);
}

async function authorsOf(sessionId: string): Promise<unknown[]> {
  const { rows } = await view.query<{ author: unknown }>(
    `select author from messages where session_id = $1 and role = 'user' order by number`,
    [sessionId],
  );
  return rows.map(({ author }) => author);
}

const refused = { code: 'not_found' };

test('a queued turn keeps its author, and its session its starter, when its process ends', async (t) => {
  const sessionId = randomUUID();
  const [first, second]: Author[] = [
    { kind: 'user', id: randomUUID() },
    { kind: 'key', id: randomUUID() },
  ];
  const never: SessionActorParts['turns'] = {
    summarise: bench.turns.summarise.bind(bench.turns),
    run: (_start, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('the process ended')));
      }),
  };
  const before = await start(sessionId, 'before', never);
  for (const author of [first, second]) await accept(before, author ?? t.fail());
  await before.stop(AbortSignal.abort());
  const after = await start(sessionId, 'after');
  t.teardown(() => after.stop());
  await t.throwsAsync(accept(after, second ?? t.fail(), { ownSessionsOnly: true }), refused);
  await accept(after, first ?? t.fail(), { ownSessionsOnly: true });
  await eventually(async () => (await authorsOf(sessionId)).length === 3);
  t.deepEqual(await authorsOf(sessionId), [first, second, first]);
});

test('a session without a recorded starter belongs to nobody', async (t) => {
  const sessionId = randomUUID();
  const author: Author = { kind: 'key', id: randomUUID() };
  const node = await start(sessionId, 'unrecorded');
  t.teardown(() => node.stop());
  const { input } = turnOf(agent, randomUUID()).turn ?? t.fail();
  if (input === undefined) throw new Error('there is an input');
  await accept(node, author, { input: { ...input, author: undefined } });
  await t.throwsAsync(accept(node, author, { ownSessionsOnly: true }), refused);
  await accept(node, author);
  await eventually(async () => (await authorsOf(sessionId)).length === 2);
  t.deepEqual(await authorsOf(sessionId), [null, author]);
});

test("a member's turn that arrives with a customer's is checked against the session after the customer's", async (t) => {
  const sessionId = randomUUID();
  const member: Author = { kind: 'key', id: randomUUID() };
  const customer: Author = { kind: 'consumer', id: 'ada' };
  const node = await start(sessionId, 'together');
  t.teardown(() => node.stop());
  await accept(node, member, { ownSessionsOnly: true });
  const [adopted, late] = await Promise.allSettled([
    accept(node, customer, { consumerKey: 'ada', consumerDisplayName: 'Ada' }),
    accept(node, member, { ownSessionsOnly: true }),
  ]);
  t.is(adopted.status, 'fulfilled');
  t.is(late.status, 'rejected');
});
