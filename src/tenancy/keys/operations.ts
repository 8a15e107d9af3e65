import { z } from 'zod';
import { PlatformError } from '../../kernel/errors.js';
import {
  allows,
  declare,
  done,
  doneShape,
  lacksPermission,
  one,
  oneShape,
  type Operation,
  optionalPage,
  optionalPageShape,
  pageQuery,
  tenantUser,
} from '../../http/operations/index.js';
import { StoreError } from '../../infra/storage/index.js';
import { type KeyAdministration, type KeyView, refuseRoleAbove } from './administration.js';
import {
  changedRate,
  createdKey,
  keyDetail,
  keyParams,
  keyPatch,
  keyStats,
  listedKey,
  newKey,
  newRate,
} from './shapes.js';
import { tierOf } from './tiers.js';

export interface KeyOperationParts {
  readonly administration: KeyAdministration;
  /** Writes this node's counts, so that an answer includes them. */
  readonly flushUse: () => Promise<void>;
  /** Waits until this node has applied a change. */
  readonly settled: (change: number) => Promise<void>;
  readonly report: (attempted: string, error: unknown) => void;
}

const warning = 'Keep this key now: it is shown only once and cannot be read again.';

export function keyOperations(parts: KeyOperationParts): readonly Operation[] {
  return [
    createKey(parts),
    listKeys(parts),
    keyTotals(parts),
    getKey(parts),
    changeRate(parts),
    changeKey(parts),
    revokeKey(parts),
  ];
}

function createKey({ administration, report }: KeyOperationParts): Operation {
  return declare({
    name: 'keys.create',
    method: 'POST',
    audit: 'keys.create',
    idempotency: 'made',
    path: '/api/keys',
    title: 'Create an API key',
    description:
      'With `origins` and `agent_ids` the key is a public one (`pk_live_…`), for the chat of a web page: it may only chat ' +
      'with these agents, from pages of these origins, whatever its role. ' +
      'For owners, admins and editors (keys:create). Only this reply contains the whole key. ' +
      "A key cannot have a higher role than its creator. The role owner is refused before the caller's permission is checked.",
    // The handler checks the permission: an invalid request is refused first.
    access: tenantUser(null, 'required-header'),
    dialect: 'keys',
    body: newKey,
    output: oneShape(createdKey).extend({ warning: z.string() }),
    status: 201,
    errors: [
      'insufficient_permissions',
      'ROLE_ESCALATION_DENIED',
      'plan_limit_exceeded',
      'conflict',
      'creation_failed',
    ],
    async handle({ caller, body }) {
      if (!allows(caller.role, 'keys:create')) throw lacksPermission(caller.role, 'keys:create');
      refuseRoleAbove(body.role, caller.role);
      const key = await administration
        .create(caller.scope, caller, body)
        .catch((error: unknown) => creationFailed(error, report));
      const shown = {
        id: key.id,
        api_key: key.apiKey,
        prefix: key.prefix,
        suffix: key.suffix,
        name: key.name,
        role: key.role,
        rate_limit_per_minute: key.requestsPerMinute,
        ...limitsOf(key),
        calculated_tier: key.tier,
        expires_at: key.expiresAt?.toISOString() ?? null,
      };
      return { ...one(shown), warning };
    },
  });
}

/** Passes refusals on. Any other error is reported and gets its own error code in the key endpoints. */
function creationFailed(error: unknown, report: KeyOperationParts['report']): never {
  if (error instanceof PlatformError) throw error;
  report('create a key', error);
  if (error instanceof StoreError && error.retryable) {
    throw new PlatformError('service_unavailable', { retryAfterSeconds: 1, cause: error });
  }
  throw new PlatformError('creation_failed', { cause: error });
}

/** What the list and the detail of a key share. */
function summaryOf(key: KeyView) {
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    suffix: key.suffix,
    status: key.status,
    role: key.role,
    rate_limit_per_minute: key.requestsPerMinute,
    ...limitsOf(key),
    created_by: key.createdBy,
  };
}

function limitsOf({ budget, allowedModels, allowedIps, publicUse }: Omit<KeyView, 'createdBy'>) {
  return {
    ...(budget !== null && { budget }),
    ...(allowedModels !== null && { allowed_models: [...allowedModels] }),
    ...(allowedIps !== null && { allowed_ips: [...allowedIps] }),
    ...(publicUse !== null && { origins: [...publicUse.origins], agent_ids: [...publicUse.agentIds] }),
  };
}

function detailOf(key: KeyView & { readonly tenantName: string }, tenantId: string) {
  return {
    ...summaryOf(key),
    description: key.description,
    quotaLimit: key.quotaLimit,
    calculated_tier: key.tier,
    expires_at: key.expiresAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    total_requests: key.totalRequests,
    tenant: { id: tenantId, name: key.tenantName },
  };
}

function listKeys({ administration, flushUse }: KeyOperationParts): Operation {
  return declare({
    name: 'keys.list',
    method: 'GET',
    path: '/api/keys',
    title: 'List API keys, newest first',
    description:
      'All keys, or one page if `limit` or `cursor` is given, or together they have more than 8 MB: then `next_cursor` ' +
      'continues the list. Revoked keys are listed for as many days as the tenant keeps its audit.',
    access: tenantUser('keys:read', 'required-header'),
    dialect: 'keys',
    query: pageQuery,
    output: optionalPageShape(listedKey),
    async handle({ caller, query }) {
      await flushUse();
      const { items, nextCursor } = await administration.list(caller.scope, query);
      const shown = items.map((key) => ({
        ...summaryOf(key),
        last_used_at: key.lastUsedAt?.toISOString() ?? null,
      }));
      return optionalPage(shown, nextCursor);
    },
  });
}

function keyTotals({ administration, flushUse }: KeyOperationParts): Operation {
  return declare({
    name: 'keys.stats',
    method: 'GET',
    path: '/api/keys/stats',
    title: 'Count API keys by status, and their requests',
    access: tenantUser('keys:read', 'required-header'),
    dialect: 'keys',
    output: oneShape(keyStats),
    async handle({ caller }) {
      await flushUse();
      return one(await administration.totals(caller.scope));
    },
  });
}

function getKey({ administration, flushUse }: KeyOperationParts): Operation {
  return declare({
    name: 'keys.get',
    method: 'GET',
    path: '/api/keys/:keyId',
    title: 'Show one API key, without the key itself',
    access: tenantUser('keys:read', 'required-header'),
    dialect: 'keys',
    params: keyParams,
    output: oneShape(keyDetail),
    errors: ['not_found'],
    async handle({ caller, params }) {
      await flushUse();
      const key = await administration.detail(caller.scope, params.keyId);
      return one(detailOf(key, caller.scope.tenantId));
    },
  });
}

function changeRate({ administration, settled }: KeyOperationParts): Operation {
  return declare({
    name: 'keys.change_rate',
    method: 'PATCH',
    audit: 'keys.change_rate',
    path: '/api/keys/:keyId/rpm',
    title: "Change an API key's requests per minute",
    description: 'Takes effect on every node within a second. The plan sets the maximum.',
    access: tenantUser('keys:write', 'required-header'),
    dialect: 'keys',
    params: keyParams,
    body: newRate,
    output: oneShape(changedRate),
    errors: ['not_found', 'plan_limit_exceeded'],
    async handle({ caller, params, body }) {
      const { before, after, change } = await administration.changeRate(
        caller.scope,
        caller,
        params.keyId,
        body.rateLimitPerMinute,
      );
      await settled(change);
      return one({
        key_id: params.keyId,
        old_rpm: before,
        new_rpm: after,
        calculated_tier: tierOf(after),
      });
    },
  });
}

function changeKey({ administration, settled, flushUse }: KeyOperationParts): Operation {
  return declare({
    name: 'keys.update',
    method: 'PATCH',
    audit: 'keys.update',
    path: '/api/keys/:keyId',
    title: "Change an API key's budget, models, addresses or description",
    description:
      'Null removes a limit, a missing field stays. `origins` and `agent_ids` are those of a public key. Takes effect on ' +
      'every node within a second; open streams from addresses that are no longer allowed are closed.',
    access: tenantUser('keys:write', 'required-header'),
    dialect: 'keys',
    params: keyParams,
    body: keyPatch,
    output: oneShape(keyDetail),
    errors: ['not_found'],
    async handle({ caller, params: { keyId }, body }) {
      const { allowed_models: allowedModels, allowed_ips: allowedIps, budget, description } = body;
      const publicUse = {
        ...(body.origins !== undefined && { origins: body.origins }),
        ...(body.agent_ids !== undefined && { agentIds: body.agent_ids }),
      };
      const wanted = { description, budget, allowedModels, allowedIps, publicUse };
      await settled(await administration.change(caller.scope, caller, keyId, wanted));
      await flushUse();
      return one(detailOf(await administration.detail(caller.scope, keyId), caller.scope.tenantId));
    },
  });
}

function revokeKey({ administration, settled }: KeyOperationParts): Operation {
  return declare({
    name: 'keys.revoke',
    method: 'DELETE',
    audit: 'keys.revoke',
    sets: { status: 'revoked' },
    path: '/api/keys/:keyId',
    title: 'Revoke an API key permanently',
    description: 'Takes effect on every node within a second; open streams of the key are closed.',
    access: tenantUser('keys:write', 'required-header'),
    dialect: 'keys',
    params: keyParams,
    output: doneShape.extend({ revoked_at: z.iso.datetime() }),
    errors: ['not_found', 'revocation_failed'],
    async handle({ caller, params }) {
      const { revokedAt, change } = await administration.revoke(caller.scope, caller, params.keyId);
      await settled(change);
      return { ...done('The API key is revoked.'), revoked_at: revokedAt.toISOString() };
    },
  });
}
