// Sessions leave memory as other actors do: what a node holds follows the conversations of the last two minutes.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { clusterConfig } from '../../../../cluster/index.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { databaseOfFile } from '../../../support/database/database.js';
import {
  echoingAgent,
  type SessionNode,
  startSessionNode,
  turnOf,
} from '../../../support/servers/session-node.js';
import { startTurns } from '../../../support/builders/turns.js';

const database = databaseOfFile(test);

type Turn = Parameters<SessionNode['session']['run']>[0];

async function run(session: SessionNode['session'], turn: Turn): Promise<readonly string[]> {
  const types: string[] = [];
  for await (const { events } of session.run(turn, { deadlineMs: 30_000 })) {
    types.push(...events.map(({ event }) => event?.$case ?? ''));
  }
  return types;
}

test('a session without turns leaves memory after the idle time of actors, and then takes another', async (t) => {
  t.is(clusterConfig().idleMs, 120_000, 'docs/guides/plan-capacity.md says two minutes');
  const bench = await startTurns(database);
  const agent = await echoingAgent(bench);
  const node = await startSessionNode({
    databaseUrl: database.url,
    bench,
    agent,
    sessionId: randomUUID(),
    name: 'idle',
    config: { idleMs: 200 },
  });
  t.teardown(() => node.stop());
  for (let turn = 0; turn < 2; turn += 1) {
    t.is((await run(node.session, turnOf(agent, randomUUID()))).at(-1), 'done');
    t.true(await eventually(() => node.residents() === 0, { timeoutMs: 30_000 }));
  }
});

test('sessions that hold too much text leave memory before their time', async (t) => {
  const bench = await startTurns(database);
  const agent = await echoingAgent(bench);
  const node = await startSessionNode({
    databaseUrl: database.url,
    bench,
    agent,
    sessionId: randomUUID(),
    name: 'full',
    // The two messages of one turn fit, those of two sessions do not, although their words would.
    config: { residentBytesMax: 800 },
  });
  t.teardown(() => node.stop());
  const sessions = Array.from({ length: 4 }, () => node.another(randomUUID()));
  for (const session of [...sessions, ...sessions]) {
    t.is((await run(session, turnOf(agent, randomUUID()))).at(-1), 'done');
    // The one before it, if it was still busy with its end when this one counted its words.
    t.true(node.residents() <= 2, `${node.residents()} sessions`);
  }
});

test('an erasure for age leaves a session that was used since', async (t) => {
  const bench = await startTurns(database);
  const agent = await echoingAgent(bench);
  const node = await startSessionNode({
    databaseUrl: database.url,
    bench,
    agent,
    sessionId: randomUUID(),
    name: 'kept',
  });
  t.teardown(() => node.stop());
  const before = Date.now();
  t.is((await run(node.session, turnOf(agent, randomUUID()))).at(-1), 'done');
  const erase = async (unusedSinceMs: number): Promise<boolean> =>
    (await node.session.erase({ by: 'system', unusedSinceMs }, { deadlineMs: 30_000 })).erased;
  t.false(await erase(before));
  t.true(await erase(Date.now() + 1));
});
