import type { Random, Time } from '../../../cluster/index.js';
import { recordAudit } from '../audit/index.js';
import type { Budget } from '../../kernel/budget.js';
import { actorOf, isAbove, type Role, type TenantCaller } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError } from '../../kernel/errors.js';
import {
  cursorOfCreated,
  optionalCursorOf,
  optionalLimit,
  pageAsked,
  type Permission,
} from '../../http/operations/index.js';
import { recordChange, type Store, type TenantTransaction } from '../../infra/storage/index.js';
import { changeTopics } from './changes.js';
import { type Creator, creatorsOf, idsOf } from './creators.js';
import { type KeyPrefix, makeKey, type PublicPrefix } from './key-text.js';
import {
  countUnrevoked,
  findKey,
  findKeyNames,
  insertKey,
  type KeyLimits,
  type KeyRow,
  publicUseOf,
  listKeys,
  lockKey,
  markRevoked,
  readTotals,
  updateLimits,
  updateRate,
} from './keys.store.js';
import { rateMaxOf, tenantOf, withinPlan } from './plan-rate.js';
import { type PublicUse, publicUseAfter, shownPrefixOf } from './public-use.js';
import { roleNow } from './role-now.js';
import type { KeyStatus } from './shapes.js';
import { type Tier, tierOf } from './tiers.js';

/** Far more than people or machines need at once; a longer list would be unusable. */
const unrevokedMax = 10_000;
const dayMs = 86_400_000;

export interface KeyRequest {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly prefix: KeyPrefix;
  readonly role: Role;
  readonly rateLimitPerMinute?: number | null | undefined;
  readonly quotaLimit?: number | null | undefined;
  readonly expiresInDays?: number | null | undefined;
  readonly budget?: Budget | null | undefined;
  readonly allowedModels?: readonly string[] | null | undefined;
  readonly allowedIps?: readonly string[] | null | undefined;
  /** Makes the key a public one. */
  readonly publicUse?: PublicUse | undefined;
}

/** Null removes, a missing field stays. */
export interface KeyChange {
  readonly description?: string | null | undefined;
  readonly budget?: Budget | null | undefined;
  readonly allowedModels?: readonly string[] | null | undefined;
  readonly allowedIps?: readonly string[] | null | undefined;
  readonly publicUse?: Partial<PublicUse> | undefined;
}

/** Who makes and changes keys. The operator stands above all roles. */
export type KeyManager = TenantCaller | 'operator';

/** A key as its tenant sees it. */
export interface KeyView extends KeyLimits {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly prefix: KeyPrefix | PublicPrefix;
  readonly suffix: string;
  readonly status: KeyStatus;
  readonly role: Role;
  /** The effective rate: never above the plan's current maximum. */
  readonly requestsPerMinute: number;
  /** Its model work over its life; null sets no limit. */
  readonly quotaLimit: number | null;
  readonly tier: Tier;
  readonly expiresAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly totalRequests: number;
  readonly createdBy: Creator;
}

export interface CreatedKey extends Omit<KeyView, 'createdBy'> {
  readonly apiKey: string;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Null at the end of the list, undefined if these are all items. */
  readonly nextCursor: string | null | undefined;
}

/** Creates, lists, changes and revokes keys. Each change looks at the permission of whoever makes it once more. */
export class KeyAdministration {
  readonly #store: Store;
  readonly #time: Time;
  readonly #random: Random;

  constructor(parts: { readonly store: Store; readonly time: Time; readonly random: Random }) {
    this.#store = parts.store;
    this.#time = parts.time;
    this.#random = parts.random;
  }

  create(scope: TenantScope, by: KeyManager, request: KeyRequest): Promise<CreatedKey> {
    const shownPrefix = shownPrefixOf(request.prefix, request.publicUse ?? null);
    const made = makeKey(shownPrefix, this.#random);
    return this.#changing(scope, by, 'keys:create', async (tx, actor, role) => {
      if (role !== undefined) refuseRoleAbove(request.role, role);
      const max = rateMaxOf(await tenantOf(tx));
      const rpm = withinPlan(request.rateLimitPerMinute ?? max, max);
      if ((await countUnrevoked(tx)) >= unrevokedMax) {
        throw new PlatformError('conflict', {
          message: `A tenant has at most ${unrevokedMax} keys. Revoke one first.`,
        });
      }
      const now = new Date(this.#time.wallMs());
      const days = request.expiresInDays ?? null;
      const row = {
        ...made,
        id: uuidFrom(this.#random),
        prefix: request.prefix,
        name: request.name,
        description: request.description ?? null,
        role: request.role,
        requestsPerMinute: rpm,
        quotaLimit: request.quotaLimit ?? null,
        limits: limitsFrom(request),
        createdBy: actor,
        createdAt: now,
        expiresAt: days === null ? null : new Date(Math.ceil(now.getTime() + days * dayMs)),
      };
      await insertKey(tx, row);
      await this.#audit(tx, actor, 'key.created', row.id, {
        name: row.name,
        role: row.role,
        rate_limit_per_minute: rpm,
        expires_at: row.expiresAt?.toISOString() ?? null,
        ...shownLimits(row.limits),
      });
      const { id, name, description, suffix, expiresAt } = row;
      return {
        id,
        name,
        description,
        ...row.limits,
        prefix: shownPrefix,
        suffix,
        role: row.role,
        expiresAt,
        apiKey: made.apiKey,
        status: 'active',
        requestsPerMinute: rpm,
        quotaLimit: row.quotaLimit,
        tier: tierOf(rpm),
        lastUsedAt: null,
        totalRequests: 0,
      };
    });
  }

  /** All keys, as far as one answer holds them, newest first, or one page if a limit or a cursor is given. */
  list(
    scope: TenantScope,
    page: { readonly limit?: number | undefined; readonly cursor?: string | undefined } = {},
  ): Promise<Page<KeyView>> {
    const limit = optionalLimit(page);
    const behind = pageAsked(page).after;
    return this.#named(scope, async (tx) => {
      const max = rateMaxOf(await tenantOf(tx));
      const found = await listKeys(tx, { behind, limit });
      const { rows } = found;
      const nextCursor = optionalCursorOf(found, limit, cursorOfCreated);
      return {
        rows,
        finish: (creatorOf) => ({ items: rows.map((row) => this.#view(row, max, creatorOf)), nextCursor }),
      };
    });
  }

  totals(scope: TenantScope): ReturnType<typeof readTotals> {
    return this.#store.inTenant(scope, (tx) => readTotals(tx, new Date(this.#time.wallMs())));
  }

  detail(scope: TenantScope, keyId: string): Promise<KeyView & { readonly tenantName: string }> {
    return this.#named(scope, async (tx) => {
      const tenant = await tenantOf(tx);
      const row = await findKey(tx, keyId);
      if (row === null) throw new PlatformError('not_found', { message: 'The API key was not found.' });
      return {
        rows: [row],
        finish: (creatorOf) => ({
          ...this.#view(row, rateMaxOf(tenant), creatorOf),
          tenantName: tenant.name,
        }),
      };
    });
  }

  /** Returns the rates before and after, and the number of the change that nodes receive. */
  changeRate(
    scope: TenantScope,
    by: KeyManager,
    keyId: string,
    rpm: number,
  ): Promise<{ readonly before: number; readonly after: number; readonly change: number }> {
    return this.#changing(scope, by, 'keys:write', async (tx, actor) => {
      const max = rateMaxOf(await tenantOf(tx));
      const row = await lockKey(tx, keyId);
      if (row === null) throw new PlatformError('not_found', { message: 'The API key was not found.' });
      if (row.revoked_at !== null) {
        throw new PlatformError('validation_error', {
          message: 'The API key is revoked, so its rate cannot be changed. Create another key.',
          details: { field: 'keyId', issue: 'is revoked' },
        });
      }
      const before = Math.min(row.rate_limit_per_minute, max);
      const after = withinPlan(rpm, max);
      await updateRate(tx, keyId, after);
      await this.#audit(tx, actor, 'key.rate_changed', keyId, { before, after });
      const change = await recordChange(tx, {
        topic: changeTopics.changed,
        tenantId: scope.tenantId,
        subject: keyId,
      });
      return { before, after, change };
    });
  }

  /** Changes what the key may ask for and spend. Returns the number of the change that nodes receive. */
  change(scope: TenantScope, by: KeyManager, keyId: string, wanted: KeyChange): Promise<number> {
    return this.#changing(scope, by, 'keys:write', async (tx, actor) => {
      const row = await lockKey(tx, keyId);
      if (row === null) throw new PlatformError('not_found', { message: 'The API key was not found.' });
      if (row.revoked_at !== null) {
        throw new PlatformError('validation_error', {
          message: 'The API key is revoked, so it cannot be changed. Create another key.',
          details: { field: 'keyId', issue: 'is revoked' },
        });
      }
      const kept = <Value>(given: Value | undefined, before: Value): Value =>
        given === undefined ? before : given;
      const limits = {
        description: kept(wanted.description, row.description),
        budget: kept(wanted.budget, row.budget),
        allowedModels: kept(wanted.allowedModels, row.allowed_models),
        allowedIps: kept(wanted.allowedIps, row.allowed_ips),
        publicUse: publicUseAfter(publicUseOf(row), wanted.publicUse),
      };
      await updateLimits(tx, keyId, limits);
      await this.#audit(tx, actor, 'key.changed', keyId, shownLimits(limits));
      const change = { tenantId: scope.tenantId, subject: keyId };
      const number = await recordChange(tx, { topic: changeTopics.changed, ...change });
      const restricts = limits.allowedIps !== null && wanted.allowedIps !== undefined;
      return restricts ? recordChange(tx, { topic: changeTopics.addresses, ...change }) : number;
    });
  }

  revoke(
    scope: TenantScope,
    by: KeyManager,
    keyId: string,
  ): Promise<{ readonly revokedAt: Date; readonly change: number }> {
    return this.#changing(scope, by, 'keys:write', async (tx, actor) => {
      const revokedAt = new Date(this.#time.wallMs());
      if (!(await markRevoked(tx, keyId, revokedAt))) {
        throw new PlatformError((await findKey(tx, keyId)) === null ? 'not_found' : 'revocation_failed');
      }
      await this.#audit(tx, actor, 'key.revoked', keyId, {});
      const change = await recordChange(tx, {
        topic: changeTopics.revoked,
        tenantId: scope.tenantId,
        subject: keyId,
      });
      return { revokedAt, change };
    });
  }

  /** `role`: the one that a caller has now; undefined for the operator. */
  #changing<Result>(
    scope: TenantScope,
    by: KeyManager,
    permission: Permission,
    change: (tx: TenantTransaction, actor: string, role: Role | undefined) => Promise<Result>,
  ): Promise<Result> {
    return this.#store.inTenant(scope, async (tx) => {
      if (by === 'operator') return change(tx, by, undefined);
      const role = await roleNow(tx, by, permission, new Date(this.#time.wallMs()));
      return change(tx, actorOf(by), role);
    });
  }

  /** Reads rows in the tenant, then names their creators, whom the tenant may no longer see. */
  async #named<Result>(
    scope: TenantScope,
    read: (tx: TenantTransaction) => Promise<{
      readonly rows: readonly KeyRow[];
      readonly finish: (creatorOf: (actor: string) => Creator) => Result;
    }>,
  ): Promise<Result> {
    const { actors, keyNames, finish } = await this.#store.inTenant(scope, async (tx) => {
      const found = await read(tx);
      const makers = found.rows.map((row) => row.created_by);
      const keys = idsOf('key', makers);
      const names = keys.length === 0 ? [] : await findKeyNames(tx, keys);
      return {
        actors: makers,
        keyNames: new Map(names.map(({ id, name }) => [id, name])),
        finish: found.finish,
      };
    });
    return finish(await creatorsOf(this.#store, actors, keyNames));
  }

  #view(row: KeyRow, rateMax: number, creatorOf: (actor: string) => Creator): KeyView {
    const rpm = Math.min(row.rate_limit_per_minute, rateMax);
    return {
      id: row.id,
      name: row.name,
      description: row.description,
      budget: row.budget,
      allowedModels: row.allowed_models,
      allowedIps: row.allowed_ips,
      publicUse: publicUseOf(row),
      prefix: shownPrefixOf(row.prefix, publicUseOf(row)),
      suffix: row.suffix,
      status: statusOf(row, this.#time.wallMs()),
      role: row.role,
      requestsPerMinute: rpm,
      quotaLimit: row.quota_limit,
      tier: tierOf(rpm),
      expiresAt: row.expires_at,
      lastUsedAt: row.last_used_at,
      totalRequests: row.total_requests,
      createdBy: creatorOf(row.created_by),
    };
  }

  #audit(
    tx: TenantTransaction,
    actor: string,
    action: string,
    keyId: string,
    details: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    return recordAudit(tx, {
      tenantId: tx.scope.tenantId,
      actor,
      action,
      subject: `key:${keyId}`,
      details,
    });
  }
}

/** A key cannot have a higher role than whoever makes it. */
export function refuseRoleAbove(role: Role, callersRole: Role): void {
  if (!isAbove(role, callersRole)) return;
  throw new PlatformError('ROLE_ESCALATION_DENIED', {
    message: `The role ${callersRole} cannot create a key with the role ${role}.`,
    details: { role, caller_role: callersRole },
  });
}

function limitsFrom({ budget, allowedModels, allowedIps, publicUse }: KeyRequest): KeyLimits {
  return {
    budget: budget ?? null,
    allowedModels: allowedModels ?? null,
    allowedIps: allowedIps ?? null,
    publicUse: publicUse ?? null,
  };
}

function shownLimits({ budget, allowedModels, allowedIps, publicUse }: KeyLimits): Record<string, unknown> {
  const limits = { budget, allowed_models: allowedModels, allowed_ips: allowedIps };
  if (publicUse === null) return limits;
  return { ...limits, origins: publicUse.origins, agent_ids: publicUse.agentIds };
}

function statusOf(row: KeyRow, wallMs: number): KeyStatus {
  if (row.revoked_at !== null) return 'revoked';
  return row.expires_at !== null && row.expires_at.getTime() <= wallMs ? 'expired' : 'active';
}

/** 128 random bits in the form of a UUID of version 4. */
function uuidFrom(random: Random): string {
  const id = random.id();
  const variant = ((parseInt(id.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${id.slice(0, 8)}-${id.slice(8, 12)}-4${id.slice(13, 16)}-${variant}${id.slice(17, 20)}-${id.slice(20, 32)}`;
}
