// One node's keys and quota behind a real edge on a real database. The test chooses the signed-in user: a bearer token
// `<role>:<name>` is that user, who becomes a member with that role of each tenant that a request names.
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { systemPlatform } from '../../../src/infra/platform/index.js';
import { systemRandom, systemTime, type Time } from '../../../cluster/index.js';
import { createAuthenticator } from '../../../src/http/authentication/index.js';
import type { Plan, Role } from '../../../src/kernel/caller.js';
import { roles } from '../../../src/kernel/caller.js';
import { type TenantScope, tenantScope } from '../../../src/kernel/tenant-scope.js';
import { PlatformError } from '../../../src/kernel/errors.js';
import { createKeys } from '../../../src/tenancy/keys/index.js';
import { tenantCaller, declare, type Operation } from '../../../src/http/operations/index.js';
import { limitsOf, plans, tenantSettings } from '../../../src/kernel/plans/index.js';
import { openAttempts } from '../../../src/models/usage/index.js';
import { createQuota } from '../../../src/tenancy/quota/index.js';
import {
  openChangeFeed,
  openHotReads,
  openStore,
  recordChange,
  sql,
  type Store,
} from '../../../src/infra/storage/index.js';
import { insertTenant } from '../builders/callers.js';
import { startEdge } from './edge.js';

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly headers: Headers;
}

const workAnswer = z.object({ success: z.literal(true) });

/** Model work that does nothing else. */
const work: Operation = declare({
  name: 'work.do',
  method: 'POST',
  path: '/work',
  title: 'Work',
  access: tenantCaller('agents:chat'),
  rate: 'model-work',
  output: workAnswer,
  handle: () => ({ success: true as const }),
});

/**
 * `feedUrl` lets a test intercept only the change feed of the node. Where `feedTime` stands still, the node learns of a
 * change by being told, never by looking for it.
 */
export async function startKeysNode(
  databaseUrl: string,
  {
    feedUrl = databaseUrl,
    feedTime = systemTime,
  }: { readonly feedUrl?: string; readonly feedTime?: Time } = {},
) {
  const time = systemTime;
  const report = (attempted: string, error: unknown): void => void problems.push({ attempted, error });
  const problems: { attempted: string; error: unknown }[] = [];
  const bearers = new Map<string, string>();
  const store = await openStore({ databaseUrl });
  const reads = openHotReads({ databaseUrl, time: systemTime });
  const feed = await openChangeFeed({
    databaseUrl: feedUrl,
    time: feedTime,
    random: systemRandom,
    onProblem: (error) => report('read changes', error),
  });
  const log = { report, note: () => undefined };
  const platform = { ...systemPlatform, store, reads, changes: feed, time, log };
  const keys = createKeys(platform);
  const quota = createQuota(platform, {
    dailyLimits: true,
    openAttempts: (scope) => openAttempts(store, scope),
  });
  const authenticator = createAuthenticator({
    verifyToken: (bearer) => {
      const userId = idOfUser(bearer);
      bearers.set(userId, bearer);
      return { userId, familyId: undefined, expiresAtMs: Number.MAX_SAFE_INTEGER };
    },
    membershipOf: (userId, tenantId) =>
      membership(store, { userId, bearer: bearers.get(userId) ?? '' }, tenantId),
    authenticateKey: keys.authenticateKey,
    authenticateKeyToken: keys.authenticateKeyToken,
    authenticateVisitor: keys.authenticateVisitor,
    operatorToken: undefined,
  });
  const edge = await startEdge([...keys.operations, ...quota.operations, work], {
    authenticator,
    admission: quota.admission,
  });

  async function call(
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: unknown,
  ): Promise<Answer> {
    const response = await fetch(edge.url + path, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Record<string, unknown>,
    };
  }

  return {
    url: edge.url,
    store,
    feed,
    keys,
    quota,
    problems,
    /** As a user of the given role in the given tenant. */
    asUser:
      (scope: TenantScope, role: Role, name = 'someone') =>
      (method: string, path: string, body?: unknown) =>
        call(method, path, { authorization: `Bearer ${role}:${name}`, 'x-tenant-id': scope.tenantId }, body),
    withKey: (apiKey: string) => (method: string, path: string, body?: unknown) =>
      call(method, path, { 'x-api-key': apiKey }, body),
    call,
    async close() {
      await edge.close();
      await keys.stop();
      await quota.stop();
      await feed.close();
      await reads.close();
      await store.close();
    },
  };
}

export interface KeyTenant {
  readonly scope: TenantScope;
  readonly admin: ReturnType<KeysNode['asUser']>;
}

/** A tenant of its own, and its admin. */
export async function newKeyTenant(node: KeysNode, plan: Plan = 'enterprise'): Promise<KeyTenant> {
  const scope = await insertTenant(node.store, { plan, name: 'Troupers' });
  return { scope, admin: node.asUser(scope, 'admin') };
}

export type KeysNode = Awaited<ReturnType<typeof startKeysNode>>;

const tenantRow = z.object({ plan: z.enum(plans), settings: tenantSettings });

/** The id of the user with this bearer token, the same on all nodes. */
export function idOfUser(bearer: string): string {
  const digits = createHash('sha256').update(bearer).digest('hex');
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20, 32)}`;
}

async function membership(
  store: Store,
  { userId, bearer }: { readonly userId: string; readonly bearer: string },
  tenantId: string | undefined,
) {
  const role = roles.find((one) => bearer.startsWith(`${one}:`));
  if (role === undefined || tenantId === undefined) throw new PlatformError('tenant_not_found');
  const tenant = await store.directory(async (tx) => {
    const found = await tx.maybeOne(
      sql.type(tenantRow)`select plan, settings from tenants where id = ${tenantId}`,
    );
    if (found === null) return null;
    await tx.query(sql.typeAlias('nothing')`
      insert into users (id, email, name) values (${userId}, ${`${userId}@example.com`}, ${bearer})
      on conflict do nothing`);
    await tx.query(sql.typeAlias('nothing')`
      insert into memberships (tenant_id, user_id, role) values (${tenantId}, ${userId}, ${role})
      on conflict do nothing`);
    return found;
  });
  if (tenant === null) throw new PlatformError('tenant_not_found');
  return { scope: tenantScope(tenantId), role, limits: limitsOf(tenant.plan, tenant.settings) };
}

/** As the operator does. */
export async function changePlan(store: Store, { tenantId }: TenantScope, plan: Plan): Promise<void> {
  await store.directory(async (tx) => {
    await tx.query(sql.typeAlias('nothing')`update tenants set plan = ${plan} where id = ${tenantId}`);
    await recordChange(tx, { topic: 'tenant', tenantId, subject: tenantId });
  });
}

export interface CreatedKey {
  readonly id: string;
  readonly apiKey: string;
  readonly suffix: string;
}

/** A key made over HTTP by an admin. */
export async function newKey(
  node: KeysNode,
  scope: TenantScope,
  wish: Readonly<Record<string, unknown>> = {},
): Promise<CreatedKey> {
  const answer = await node.asUser(scope, 'admin')('POST', '/api/keys', { name: 'a key', ...wish });
  if (answer.status !== 201) throw new Error(`not created: ${JSON.stringify(answer.body)}`);
  const { id, api_key: apiKey, suffix } = dataOf(answer);
  return { id: String(id), apiKey: String(apiKey), suffix: String(suffix) };
}

export function dataOf(answer: Answer): Record<string, unknown> {
  return answer.body['data'] as Record<string, unknown>;
}

export function itemsOf(answer: Answer): Record<string, unknown>[] {
  return answer.body['data'] as Record<string, unknown>[];
}
