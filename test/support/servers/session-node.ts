// The session's actor on a node that is alone, over real tables; the turns are real too.
import { TurnsAtWork } from '../../../src/conversations/sessions/turns-at-work.js';
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import {
  type ActorKindOf,
  clusterConfig,
  type ClusterConfig,
  type FenceStore,
  GroupCommit,
  openLoneNode,
  PostgresFenceStore,
  processId,
  type Reference,
  systemRandom,
  systemTime,
  type Time,
} from '../../../cluster/index.js';
import type { RunnableAgent } from '../../../src/agents/index.js';
import type { Author } from '../../../src/conversations/invocation/index.js';
import { limitsOf } from '../../../src/kernel/plans/index.js';
import type { SessionActorParts, SessionService } from '../../../src/conversations/sessions/parts.js';
import { sessionActor, type SessionCommits } from '../../../src/conversations/sessions/session.actor.js';
import type {
  SessionLoad,
  SessionLoaded,
  SessionWrite,
  SessionWritten,
} from '../../../src/conversations/sessions/rows.js';
import { turnToWire } from '../../../src/conversations/sessions/wire/turns.js';
import { sessionTables } from '../../../src/conversations/sessions/session.store.js';
import { agentOf, startTurns, type TurnsBench } from '../builders/turns.js';
import { databaseConnectMs, type FileDatabase } from '../database/database.js';
import { ownerView } from '../database/owner-view.js';

export interface SessionNode {
  readonly session: Reference<SessionService>;
  another(sessionId: string): Reference<SessionService>;
  /** How many actors are in its memory. */
  residents(): number;
  /** Waits for running turns, unless the signal aborts the wait. */
  stop(signal?: AbortSignal): Promise<unknown>;
}

export type SessionStore = FenceStore<SessionLoad, SessionLoaded, SessionWrite, SessionWritten>;

export interface SessionNodeOptions {
  readonly databaseUrl: string;
  readonly bench: TurnsBench;
  readonly agent: RunnableAgent;
  readonly sessionId: string;
  readonly name: string;
  readonly turns?: SessionActorParts['turns'];
  readonly time?: Time;
  /** How the agent is found; at once if it is not given. */
  readonly runnableAgent?: () => Promise<RunnableAgent>;
  /** Called for what is reported; without it, a report fails the test. */
  readonly report?: SessionActorParts['report'];
  /** Stands between the node and its store. */
  readonly over?: (store: SessionStore) => SessionStore;
  readonly config?: Partial<ClusterConfig>;
}

/** What the tests of one session's actor share: turns, a view of all rows, and an agent that echoes. */
export interface SessionBench {
  readonly bench: TurnsBench;
  readonly view: pg.Client;
  readonly agent: RunnableAgent;
}

export async function startSessionBench(database: FileDatabase): Promise<SessionBench> {
  const bench = await startTurns(database);
  const view = await ownerView(database.url);
  database.atEnd(() => view.end());
  return { bench, view, agent: await echoingAgent(bench) };
}

/** An agent that echoes, as a session's actor is given it. */
export async function echoingAgent(bench: TurnsBench): Promise<RunnableAgent> {
  const made = await bench.owner.call('POST', '/api/agents', { name: 'echoes' });
  return { ...agentOf(), id: (made.body.data as { id: string }).id };
}

/** The kind of a session's actor without the platform around it. */
export function sessionKind(
  commits: SessionCommits,
  self: SessionActorParts['self'],
  options: Pick<SessionNodeOptions, 'bench' | 'agent' | 'turns' | 'time' | 'runnableAgent' | 'report'>,
): ActorKindOf<SessionService> {
  const { bench, agent, turns = bench.turns, time = systemTime, runnableAgent = () => agent } = options;
  const tenant = { scope: bench.scope, limits: limitsOf('enterprise', {}), suspended: false };
  return sessionActor(commits, {
    turns,
    agents: { runnableAgent, agentVersion: () => Promise.resolve(agent.snapshot) },
    tenantAtWork: () => tenant,
    atWork: new TurnsAtWork(),
    onTurnBegun: () => undefined,
    onTurnEnded: () => undefined,
    isDenied: () => false,
    factsOf: () => Promise.resolve([]),
    nameOf: () => Promise.resolve(undefined),
    seal: (text) => text,
    unseal: (text) => text,
    otherParticipant: () => Promise.resolve(undefined),
    olderMessages: () => Promise.resolve([]),
    attachmentContents: () => Promise.resolve(new Map()),
    self,
    armExpiry: () => undefined,
    time,
    newId: randomUUID,
    report:
      options.report ??
      ((_, error) => {
        throw error;
      }),
  });
}

export async function startSessionNode(options: SessionNodeOptions): Promise<SessionNode> {
  const { databaseUrl, bench, sessionId, name, over } = options;
  const config = clusterConfig(options.config);
  const store = new PostgresFenceStore(sessionTables, {
    databaseUrl,
    role: 'troupe_writer',
    statementTimeoutMs: config.statementTimeoutMs,
    connectTimeoutMs: databaseConnectMs,
    time: systemTime,
  });
  const commits = new GroupCommit(over?.(store) ?? store, config, systemTime, systemRandom);
  const self = (group: string, key: string): Reference<SessionService> => node.actor(kind, group, key);
  const kind = sessionKind(commits, self, options);
  const { node, stop } = await openLoneNode({ kinds: [kind], process: processId(name), config });
  return {
    session: self(bench.scope.tenantId, sessionId),
    another: (other) => self(bench.scope.tenantId, other),
    residents: () => node.describe().residents,
    async stop(signal) {
      await stop(signal);
      await store.close();
    },
  };
}

export function turnOf(
  agent: RunnableAgent,
  executionId: string,
  author: Author = { kind: 'key', id: '5d0ab5ce-8e8c-4d7b-9f0c-0d6f3b0f7f11' },
  message = 'good morning, everybody',
): Parameters<SessionNode['session']['run']>[0] {
  return {
    turn: turnToWire({
      executionId,
      agentId: agent.id,
      mustExist: false,
      ownSessionsOnly: false,
      channel: 'chat',
      consumerKey: undefined,
      consumerDisplayName: undefined,
      nameInferred: false,
      input: {
        message,
        author,
        declared_context: null,
        accepted_fields: ['message'],
        ignored_fields: [],
        quick_replies: false,
        role: 'owner',
      },
      context: {},
      bindings: {},
      metadata: {},
      keyId: null,
      userId: null,
      triggerId: undefined,
      deadlineMs: 60_000,
    }),
    after: 0,
    follower: randomUUID(),
  };
}
