// Realtime events behind a real HTTP edge, on a real database; two benches on one database are two nodes.
import { randomUUID } from 'node:crypto';
import { systemPlatform } from '../../../src/infra/platform/index.js';
import { systemRandom, systemTime } from '../../../cluster/index.js';
import type { Role, TenantCaller } from '../../../src/kernel/caller.js';
import type { TenantScope } from '../../../src/kernel/tenant-scope.js';
import {
  createRealtime,
  type RealtimeEvent,
  recordRealtimeEvent,
} from '../../../src/conversations/realtime/index.js';
import { openChangeFeed, openHotReads, openStore, type Store } from '../../../src/infra/storage/index.js';
import { insertTenant, userOf } from '../builders/callers.js';
import type { FileDatabase } from '../database/database.js';
import { knowing, startEdge } from './edge.js';
import { expectNoFeedProblems } from './feed-problems.js';
import { openEvents, openSocket, type TestSocket, type TestStream } from '../clients/sockets.js';

export interface RealtimeBench {
  readonly url: string;
  readonly store: Store;
  newTenant(): Promise<TenantScope>;
  /** Headers of a member of the tenant. */
  as(scope: TenantScope, role?: Role): Readonly<Record<string, string>>;
  socket(scope: TenantScope, after?: string): Promise<TestSocket>;
  stream(scope: TenantScope, after?: string): Promise<TestStream>;
  /** Ends the streams and the node. */
  leave(): Promise<void>;
}

export async function startRealtime(
  database: FileDatabase,
  { feedUrl = database.url } = {},
): Promise<RealtimeBench> {
  const store = await openStore({ databaseUrl: database.url });
  const reads = openHotReads({ databaseUrl: database.url, time: systemTime });
  const problems: unknown[] = [];
  const feed = await openChangeFeed({
    databaseUrl: feedUrl,
    time: systemTime,
    random: systemRandom,
    onProblem: (problem) => problems.push(problem),
  });
  const realtime = createRealtime(
    {
      ...systemPlatform,
      store,
      reads,
      changes: feed,
      log: { report: (_, problem) => problems.push(problem), note: () => undefined },
    },
    { publish: (topic, text) => edge.server.publish(topic, text) },
  );
  const callers = new Map<string, TenantCaller>();
  const edge = await startEdge(realtime.operations, {
    authenticator: knowing(callers),
  });
  const leave = async (): Promise<void> => {
    realtime.stop();
    // Far longer than a test would wait: that streams end at once shows.
    await edge.server.close(AbortSignal.timeout(60_000));
  };
  database.atEnd(async () => {
    await leave();
    await feed.close();
    await reads.close();
    await store.close();
    expectNoFeedProblems(problems);
  });
  const as = (scope: TenantScope, role: Role = 'member') => {
    const token = randomUUID();
    callers.set(token, userOf(scope, { role }));
    return { authorization: `Bearer ${token}` };
  };
  const query = (after: string | undefined) => (after === undefined ? '' : `?last_event_id=${after}`);
  return {
    url: edge.url,
    store,
    newTenant: () => insertTenant(store),
    as,
    socket: (scope, after) => openSocket(`${edge.url}/api/v1/realtime${query(after)}`, as(scope)),
    stream: (scope, after) => openEvents(`${edge.url}/api/v1/realtime/events${query(after)}`, as(scope)),
    leave,
  };
}

/** An event that carries a number of the test. */
export function eventOf(number: number): RealtimeEvent {
  return {
    type: 'manual_message_sent',
    data: { session_id: 's', message_id: String(number), by: 'user:u' },
  };
}

export function report(store: Store, scope: TenantScope, number: number): Promise<void> {
  return store.inTenant(scope, (tx) => recordRealtimeEvent(tx, eventOf(number)));
}

interface Told {
  readonly id: string;
  readonly data: { readonly message_id: string };
}

/** The numbers of the test that messages carry. */
export function numbersOf(messages: readonly string[]): number[] {
  return messages.map((text) => Number((JSON.parse(text) as Told).data.message_id));
}

export function idsOf(messages: readonly string[]): string[] {
  return messages.map((text) => (JSON.parse(text) as Told).id);
}

/** The JSON of server-sent events. */
export function dataOf(events: readonly string[]): string[] {
  return events.map((event) => /^data: (.*)$/m.exec(event)?.[1] ?? '');
}
