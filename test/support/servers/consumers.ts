// Consumers behind a real HTTP edge, on a real database; two benches on one database are two nodes.
import { createKeyedHash } from '../../../src/infra/sealing/index.js';
import { randomUUID } from 'node:crypto';
import { systemRandom, systemTime, type Time } from '../../../cluster/index.js';
import { type ConsumersSubject, createConsumers } from '../../../src/conversations/consumers/index.js';
import type { Role, TenantCaller } from '../../../src/kernel/caller.js';
import { figuresOfConsumers } from '../../../src/conversations/sessions/index.js';
import { consumerSessionOperations } from '../../../src/conversations/sessions/consumer-operations.js';
import type { TenantScope } from '../../../src/kernel/tenant-scope.js';
import {
  type ChangeFeed,
  type HotReads,
  openChangeFeed,
  openHotReads,
  openStore,
  sql,
  type Store,
} from '../../../src/infra/storage/index.js';
import { apiAt, type ApiAnswer } from '../clients/api.js';
import { insertTenant, keyOf, userOf } from '../builders/callers.js';
import type { FileDatabase } from '../database/database.js';
import { knowing, startEdge } from './edge.js';
import { expectNoFeedProblems } from './feed-problems.js';

export interface ConsumersBench {
  readonly store: Store;
  readonly feed: ChangeFeed;
  readonly subject: ConsumersSubject;
  /** How many reads went to the database by the way of requests. */
  readonly readCount: () => number;
  newTenant(): Promise<TenantScope>;
  as(scope: TenantScope, role: Role, kind?: 'user' | 'key'): Person;
}

export interface Person {
  get(path: string): Promise<ApiAnswer>;
  deny(key: string, body?: object): Promise<ApiAnswer>;
  allow(key: string): Promise<ApiAnswer>;
}

/** Where the clock of the feed stands still, this node learns of a change by being told, never by looking for it. */
export async function startConsumers(
  database: FileDatabase,
  feedTime: Time = systemTime,
): Promise<ConsumersBench> {
  const store = await openStore({ databaseUrl: database.url });
  const opened = openHotReads({ databaseUrl: database.url, time: systemTime });
  let count = 0;
  const reads: HotReads = {
    ...opened,
    inTenant: (...read) => {
      count += 1;
      return opened.inTenant(...read);
    },
  };
  const problems: unknown[] = [];
  const feed = await openChangeFeed({
    databaseUrl: database.url,
    time: feedTime,
    random: systemRandom,
    onProblem: (problem) => problems.push(problem),
  });
  const subject = createConsumers(
    { store, reads, changes: feed, time: systemTime },
    { figuresOf: figuresOfConsumers, hash: createKeyedHash(new Uint8Array(32), []) },
  );
  const callers = new Map<string, TenantCaller>();
  const sessions = consumerSessionOperations({
    store,
    feed,
    sessions: { erasePerson: () => Promise.reject(new Error('No session runs here.')) },
    isKnownConsumer: (scope, key) => subject.isKnown(scope, key),
    forgetAccepted: () => Promise.resolve(0),
    erasePerson: (tx, erasure) => subject.erasePerson(tx, erasure),
  });
  const edge = await startEdge([...subject.operations, ...sessions], {
    authenticator: knowing(callers),
  });
  database.atEnd(async () => {
    await edge.close();
    subject.stop();
    await feed.close();
    await opened.close();
    await store.close();
    expectNoFeedProblems(problems);
  });
  const api = apiAt(edge.url);
  return {
    store,
    feed,
    subject,
    readCount: () => count,
    newTenant: () => insertTenant(store),
    as(scope, role, kind = 'user') {
      const caller = kind === 'user' ? userOf(scope, { role }) : keyOf(scope, { role });
      const token = randomUUID();
      callers.set(token, caller);
      const denyPath = (key: string): string => `/api/v1/consumers/${encodeURIComponent(key)}/deny`;
      return {
        get: (path) => api.get(path, { token }),
        deny: (key, body = {}) => api.post(denyPath(key), body, { token }),
        allow: (key) => api.delete(denyPath(key), { token }),
      };
    },
  };
}

/** A session as its actor writes it. */
export async function insertSession(
  store: Store,
  scope: TenantScope,
  session: { readonly consumerKey: string; readonly turns: number; readonly at: Date },
): Promise<string> {
  const id = randomUUID();
  const agentId = randomUUID();
  const at = session.at.toISOString();
  await store.inTenant(scope, async (tx) => {
    await tx.query(sql.typeAlias('nothing')`
      insert into agents (tenant_id, id, document)
      values (${scope.tenantId}, ${agentId}, ${JSON.stringify({ name: agentId, type: 'assistant' })}::jsonb)`);
    await tx.query(sql.typeAlias('nothing')`
      insert into sessions (tenant_id, id, agent_id, slot, consumer_key, channel, total_turns, created_at, last_interaction)
      values (${scope.tenantId}, ${id}, ${agentId}, 1, ${session.consumerKey}, 'stream', ${session.turns}, ${at}, ${at})`);
  });
  return id;
}
