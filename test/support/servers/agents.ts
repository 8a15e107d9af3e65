// Agents behind a real HTTP edge, on a real database.
import { randomBytes } from 'node:crypto';
import { systemPlatform } from '../../../src/infra/platform/index.js';
import { systemRandom, systemTime, type Time } from '../../../cluster/index.js';
import { type AgentsOptions, type AgentsSubject, createAgents } from '../../../src/agents/index.js';
import type { KeyCaller, Role, TenantCaller, TenantUserCaller } from '../../../src/kernel/caller.js';
import type { TenantScope } from '../../../src/kernel/tenant-scope.js';
import { createEgress } from '../../../src/infra/egress/index.js';
import { createExpressions } from '../../../src/infra/expressions/index.js';
import { openChangeFeed, openStore, type Store } from '../../../src/infra/storage/index.js';
import { createVault, type Vault } from '../../../src/tenancy/vault/index.js';
import { insertTenant, keyOf, userOf } from '../builders/callers.js';
import type { FileDatabase } from '../database/database.js';
import { knowing, startEdge } from './edge.js';
import { expectNoFeedProblems } from './feed-problems.js';
import { newSandbox, patientTasks } from './sandbox.js';

export interface Reply {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>> & { data?: unknown };
}

export interface Person<Caller = TenantUserCaller> {
  readonly caller: Caller;
  call(method: string, path: string, body?: unknown): Promise<Reply>;
}

export interface AgentsBench {
  readonly store: Store;
  readonly subject: AgentsSubject;
  readonly vault: Vault;
  newTenant(): Promise<TenantScope>;
  person(scope: TenantScope, role: Role): Person;
  /** An API key, as endpoints other than REST accept it. */
  key(scope: TenantScope, role: Role): Person<KeyCaller>;
}

/** Two benches on one database are two nodes of one installation. */
const masterKey = randomBytes(32);

export async function startAgents(
  database: FileDatabase,
  {
    feedTime = systemTime,
    ...options
  }: Pick<AgentsOptions, 'models'> & {
    /** Where it stands still, this node learns of a change by being told, never by looking for it. */
    readonly feedTime?: Time;
  } = {},
): Promise<AgentsBench> {
  const problems: unknown[] = [];
  const store = await openStore({ databaseUrl: database.url });
  const feed = await openChangeFeed({
    databaseUrl: database.url,
    time: feedTime,
    random: systemRandom,
    onProblem: (problem) => problems.push(problem),
  });
  const vault = createVault({ ...systemPlatform, store }, { masterKey, providers: () => ['openai'] });
  await vault.prepare();
  // Test servers are on this machine; every other private address stays forbidden.
  const egress = createEgress({ allow: ['127.0.0.1/32'] });
  const sandbox = newSandbox();
  const expressions = createExpressions(sandbox, { timeoutMs: 60_000 });
  const subject = createAgents(
    { ...systemPlatform, store, changes: feed },
    { vault, egress, sandbox: patientTasks(sandbox), expressions, ...options },
  );
  const callers = new Map<string, TenantCaller>();
  const edge = await startEdge([...subject.operations, ...vault.operations], {
    authenticator: knowing(callers),
  });
  database.atEnd(async () => {
    await edge.close();
    await subject.stop();
    await egress.close();
    await sandbox.close();
    await feed.close();
    await store.close();
    expectNoFeedProblems(problems);
  });
  return {
    store,
    subject,
    vault,
    newTenant: () => insertTenant(store),
    person(scope, role) {
      const caller = userOf(scope, { role });
      callers.set(caller.userId, caller);
      return { caller, call: (method, path, body) => call(edge.url, caller.userId, method, path, body) };
    },
    key(scope, role) {
      const caller = keyOf(scope, { role });
      callers.set(caller.keyId, caller);
      return { caller, call: (method, path, body) => call(edge.url, caller.keyId, method, path, body) };
    },
  };
}

async function call(url: string, token: string, method: string, path: string, body: unknown): Promise<Reply> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Reply['body'] };
}

/** The `data` of an answer, as an object. */
export function dataOf(reply: Reply): Record<string, unknown> {
  return reply.body.data as Record<string, unknown>;
}

export function idOf(reply: Reply): string {
  return String(dataOf(reply)['id']);
}

export function namesOf(reply: Reply): string[] {
  return (reply.body.data as { name: string }[]).map(({ name }) => name);
}
