import { z } from 'zod';
import { actorOf } from '../../kernel/caller.js';
import { invalidField, PlatformError } from '../../kernel/errors.js';
import { plans } from '../../kernel/plans/index.js';
import {
  cursorOfCreated,
  declare,
  doneShape,
  done,
  idempotencyHeader,
  JsonReply,
  one,
  oneShape,
  type Operation,
  operator,
  pageAsked,
  pageOf,
  pageQuery,
  pageShape,
  replayed,
  rowsFor,
  validKey,
  givenUuid,
} from '../../http/operations/index.js';
import { displayName, emailAddress, type Identity, tenantStatuses } from '../../tenancy/identity/index.js';
import type { Vault } from '../../tenancy/vault/index.js';
import { momentText, reportRange } from '../../models/telemetry/index.js';
import { installationGroups } from '../../models/usage/index.js';
import { tenantScope } from '../../kernel/tenant-scope.js';
import type { OperatorReports } from './reports.js';
import { tenantRow, tenantRowFrom, usageFigures, userRow, userRowFrom } from './shapes.js';

export interface OperatorParts {
  readonly reports: OperatorReports;
  readonly identity: Pick<Identity, 'accounts' | 'suspension' | 'tenants'>;
  readonly vault: Pick<Vault, 'rotateDataKey'>;
  readonly nowMs: () => number;
}

const searchText = z.string().min(1).max(200);
const params = z.object({ id: givenUuid });
/** Without a range, the last 30 days. */
const daysDefault = 30;

export function operatorOperations(parts: OperatorParts): readonly Operation[] {
  return [
    ...tenantOperations(parts),
    createOperation(parts),
    ...userOperations(parts),
    usageOperation(parts),
  ];
}

function tenantOperations({ reports, identity: { suspension }, vault }: OperatorParts): readonly Operation[] {
  const oneTenant = {
    access: operator(),
    params,
    absent: 'tenant_not_found',
    output: oneShape(tenantRow),
    errors: ['tenant_not_found'],
  } as const;
  return [
    declare({
      name: 'operator.tenants',
      method: 'GET',
      path: '/api/v1/operator/tenants',
      title: 'All tenants of the installation',
      description: 'Newest first. `search` is a part of the name, or the id.',
      access: operator(),
      query: pageQuery.extend({
        search: searchText.optional(),
        plan: z.enum(plans).optional(),
        status: z.enum(tenantStatuses).optional(),
      }),
      output: pageShape(tenantRow),
      handle: async ({ query }) => {
        const { limit, after } = pageAsked(query);
        const found = await reports.tenants(query, { after, rows: rowsFor(limit) });
        return pageOf(found, limit, tenantRowFrom, cursorOfCreated);
      },
    }),
    declare({
      ...oneTenant,
      name: 'operator.tenant',
      method: 'GET',
      path: '/api/v1/operator/tenants/:id',
      title: 'One tenant of the installation',
      handle: async ({ params: { id } }) => one(tenantRowFrom(await reports.tenant(id))),
    }),
    declare({
      ...oneTenant,
      name: 'operator.tenant-suspend',
      method: 'POST',
      audit: { action: 'tenant.suspended', by: 'subject' },
      path: '/api/v1/operator/tenants/:id/suspend',
      title: 'Suspend a tenant',
      description:
        'Its credentials and triggers are answered with 403 on every node within a second; its running turns are cancelled.',
      body: z.object({ reason: z.string().trim().min(1).max(500) }),
      handle: async ({ caller, params: { id }, body }) => {
        await suspension.suspend(id, body.reason, actorOf(caller));
        return one(tenantRowFrom(await reports.tenant(id)));
      },
    }),
    declare({
      ...oneTenant,
      name: 'operator.tenant-resume',
      method: 'POST',
      audit: { action: 'tenant.resumed', by: 'subject' },
      path: '/api/v1/operator/tenants/:id/resume',
      title: 'Let a suspended tenant work again',
      handle: async ({ caller, params: { id } }) => {
        await suspension.resume(id, actorOf(caller));
        return one(tenantRowFrom(await reports.tenant(id)));
      },
    }),
    declare({
      name: 'operator.tenant-rotate-data-key',
      method: 'POST',
      audit: { action: 'vault.data-key-replaced', by: 'subject' },
      path: '/api/v1/operator/tenants/:id/rotate-data-key',
      title: "Make a new data key for a tenant's vault",
      description: 'Every secret of the tenant is sealed again with the new key.',
      access: operator(),
      params,
      absent: 'tenant_not_found',
      output: doneShape,
      errors: ['tenant_not_found'],
      handle: async ({ caller, params: { id } }) => {
        // An unknown tenant is refused first.
        await reports.tenant(id);
        const { sealed } = await vault.rotateDataKey(tenantScope(id), actorOf(caller));
        return done(`The tenant has a new data key; ${sealed} secrets were sealed again.`);
      },
    }),
  ];
}

function createOperation({ reports, identity: { accounts, tenants } }: OperatorParts): Operation {
  return declare({
    name: 'operator.tenant-create',
    method: 'POST',
    audit: { action: 'tenant.created', by: 'subject' },
    idempotency: { exempt: 'the operator has no tenant, where keys are kept; the new tenant keeps the key' },
    path: '/api/v1/operator/tenants',
    title: 'Create a tenant',
    description:
      '`owner` is the address of an account that becomes its owner. Without it the tenant has no member; `troupe keys create` makes a key of an owner.',
    access: operator(),
    body: z.object({
      name: displayName,
      plan: z.enum(plans).default('free'),
      owner: emailAddress.optional(),
    }),
    output: oneShape(tenantRow),
    status: 201,
    headers: [idempotencyHeader],
    errors: ['idempotency_key_reused'],
    handle: async ({ caller, body: { name, plan, owner }, headers }) => {
      const account = owner === undefined ? undefined : await accounts.findByEmail(owner);
      if (account === null || account?.disabled === true)
        throw invalidField('owner', 'must be the address of an account that can sign in');
      const key = headers[idempotencyHeader] ?? '';
      const { tenant, isRepeat } = await tenants.createByOperator(
        { name, plan, ownerId: account?.id },
        actorOf(caller),
        key === '' ? undefined : validKey(key),
      );
      const made = one(tenantRowFrom(await reports.tenant(tenant.id)));
      return isRepeat ? new JsonReply(made, 201, replayed) : made;
    },
  });
}

function userOperations({ reports, identity: { accounts } }: OperatorParts): readonly Operation[] {
  const changed = async (id: string, found: boolean) => {
    const [account] = found ? await reports.users(id, { after: undefined, rows: 1 }) : [];
    if (account === undefined) throw new PlatformError('not_found', { message: 'The user was not found.' });
    return one(userRowFrom(account));
  };
  const oneUser = { access: operator(), params, output: oneShape(userRow), errors: ['not_found'] } as const;
  return [
    declare({
      name: 'operator.users',
      method: 'GET',
      path: '/api/v1/operator/users',
      title: 'All users of the installation',
      description: 'Newest first. `search` is a part of the address or the name, or the id.',
      access: operator(),
      query: pageQuery.extend({ search: searchText.optional() }),
      output: pageShape(userRow),
      handle: async ({ query }) => {
        const { limit, after } = pageAsked(query);
        const found = await reports.users(query.search, { after, rows: rowsFor(limit) });
        return pageOf(found, limit, userRowFrom, cursorOfCreated);
      },
    }),
    declare({
      ...oneUser,
      name: 'operator.user-disable',
      method: 'POST',
      audit: { action: 'user.disabled', by: 'subject' },
      path: '/api/v1/operator/users/:id/disable',
      title: 'Disable a user',
      description: 'Every sign-in of the user ends; its credentials are answered with 401.',
      handle: async ({ caller, params: { id } }) => changed(id, await accounts.disable(id, actorOf(caller))),
    }),
    declare({
      ...oneUser,
      name: 'operator.user-enable',
      method: 'POST',
      audit: { action: 'user.enabled', by: 'subject' },
      path: '/api/v1/operator/users/:id/enable',
      title: 'Let a disabled user sign in again',
      handle: async ({ caller, params: { id } }) => changed(id, await accounts.enable(id, actorOf(caller))),
    }),
  ];
}

function usageOperation({ reports, nowMs }: OperatorParts): Operation {
  return declare({
    name: 'operator.usage',
    method: 'GET',
    path: '/api/v1/operator/usage',
    title: 'Calls, tokens and cost of all tenants in a period, in groups',
    description: 'Without a range, the last 30 days. An end without a time includes its day.',
    access: operator(),
    query: z.object({
      start_date: momentText.optional(),
      end_date: momentText.optional(),
      group_by: z.enum(installationGroups).default('tenant'),
    }),
    output: oneShape(
      z.object({
        currency: z.literal('USD'),
        total: z.object(usageFigures),
        groups: z.array(z.object({ key: z.string(), label: z.string(), ...usageFigures })),
      }),
    ).extend({ count: z.int() }),
    handle: async ({ query }) => {
      const groups = await reports.usage(reportRange(query, nowMs(), daysDefault), query.group_by);
      const sum = (figure: keyof typeof usageFigures): number =>
        groups.reduce((total, group) => total + group[figure], 0);
      const total = {
        calls: sum('calls'),
        input_tokens: sum('input_tokens'),
        output_tokens: sum('output_tokens'),
        cost: Math.round(sum('cost') * 1e9) / 1e9,
      };
      return { ...one({ currency: 'USD' as const, total, groups }), count: groups.length };
    },
  });
}
