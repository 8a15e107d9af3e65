// Sessions leave memory as other actors do: what a node holds follows the conversations of the last two minutes.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { type ClusterConfig, clusterConfig } from '../../../../cluster/index.js';
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

async function startNode(t: ExecutionContext, name: string, config: Partial<ClusterConfig> = {}) {
  const bench = await startTurns(database);
  const agent = await echoingAgent(bench);
  const node = await startSessionNode({
    databaseUrl: database.url,
    bench,
    agent,
    sessionId: randomUUID(),
    name,
    config,
  });
  t.teardown(() => node.stop());
  return { node, agent };
}

async function run(session: SessionNode['session'], turn: Turn): Promise<readonly string[]> {
  const types: string[] = [];
  for await (const { events } of session.run(turn, { deadlineMs: 30_000 })) {
    types.push(...events.map(({ event }) => event?.$case ?? ''));
  }
  return types;
}

test('a session without turns leaves memory after the idle time of actors, and then takes another', async (t) => {
  t.is(clusterConfig().idleMs, 120_000, 'docs/guides/plan-capacity.md says two minutes');
  const { node, agent } = await startNode(t, 'idle', { idleMs: 200 });
  for (let turn = 0; turn < 2; turn += 1) {
    t.is((await run(node.session, turnOf(agent, randomUUID()))).at(-1), 'done');
    t.true(await eventually(() => node.residents() === 0, { timeoutMs: 30_000 }));
  }
});

test('sessions that hold too much text leave memory before their time', async (t) => {
  // The two messages of one turn fit, those of two sessions do not, although their words would.
  const { node, agent } = await startNode(t, 'full', { residentBytesMax: 800 });
  const sessions = Array.from({ length: 4 }, () => node.another(randomUUID()));
  for (const session of [...sessions, ...sessions]) {
    t.is((await run(session, turnOf(agent, randomUUID()))).at(-1), 'done');
    // The one before it, if it was still busy with its end when this one counted its words.
    t.true(node.residents() <= 2, `${node.residents()} sessions`);
  }
});

test('an erasure for age leaves a session that was used since', async (t) => {
  const { node, agent } = await startNode(t, 'kept');
  const before = Date.now();
  t.is((await run(node.session, turnOf(agent, randomUUID()))).at(-1), 'done');
  const erase = async (unusedSinceMs: number): Promise<boolean> =>
    (await node.session.erase({ by: 'system', unusedSinceMs }, { deadlineMs: 30_000 })).erased;
  t.false(await erase(before));
  t.true(await erase(Date.now() + 1));
});
