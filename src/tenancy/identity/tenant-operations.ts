import { z } from 'zod';
import { budgetShape } from '../../kernel/budget.js';
import { actorOf } from '../../kernel/caller.js';
import { invalidField } from '../../kernel/errors.js';
import {
  declare,
  idempotencyHeader,
  JsonReply,
  list,
  listShape,
  one,
  oneShape,
  type Operation,
  operator,
  replayed,
  tenantUserAt,
  user,
  validKey,
  givenUuid,
} from '../../http/operations/index.js';
import { plans, tenantSettings } from '../../kernel/plans/index.js';
import { type ModelAliases, modelAliases } from '../../kernel/model-aliases.js';
import { retentionPatch } from '../../kernel/retention.js';
import { displayName } from './fields.js';
import {
  keptTenantFrom,
  keptTenantShape,
  plannedTenantFrom,
  plannedTenantShape,
  tenantFrom,
  tenantShape,
} from './shapes.js';
import type { Tenants } from './tenants.js';

const oneTenant = oneShape(tenantShape);
const keptTenant = oneShape(keptTenantShape);
const params = z.object({ id: givenUuid });

/** As stored, but null removes a figure or all figures. */
const settingsPatch = z.object({
  requests_per_minute: tenantSettings.shape.requests_per_minute.nullable(),
  requests_per_day: tenantSettings.shape.requests_per_day.nullable(),
  monthly_tokens: tenantSettings.shape.monthly_tokens.nullable(),
  key_rpm_max: tenantSettings.shape.key_rpm_max.nullable(),
});

function checkAliases(aliases: ModelAliases, isKnown: (model: string) => boolean): void {
  for (const [alias, model] of Object.entries(aliases)) {
    if (!isKnown(model)) {
      throw invalidField(`model_aliases.${alias}`, 'must name a model of GET /api/v3/llm/models');
    }
  }
}

/** `isKnownModel`: whether a model of the name exists, regardless of who may use it. */
export function tenantOperations(
  tenants: Tenants,
  isKnownModel: (model: string) => boolean,
): readonly Operation[] {
  return [
    declare({
      name: 'tenants.create',
      method: 'POST',
      audit: { action: 'tenants.create', by: 'subject' },
      idempotency: {
        exempt: 'its caller has no tenant yet, where keys are kept; the new tenant keeps the key',
      },
      path: '/api/tenants',
      title: 'Create a tenant as its owner',
      description:
        'A user may have at most 20, created or owned; more are refused with 409. The number per address and day is limited; more are refused with 429.',
      access: user(),
      body: z.object({ name: displayName }),
      output: oneTenant,
      status: 201,
      headers: [idempotencyHeader],
      errors: ['conflict', 'idempotency_key_reused'],
      async handle({ caller, body, headers }) {
        const key = headers[idempotencyHeader] ?? '';
        const { tenant, isRepeat } = await tenants.create(caller.userId, body.name, {
          address: caller.address,
          idempotencyKey: key === '' ? undefined : validKey(key),
        });
        return isRepeat ? new JsonReply(one(tenantFrom(tenant)), 201, replayed) : one(tenantFrom(tenant));
      },
    }),
    declare({
      name: 'tenants.list',
      method: 'GET',
      path: '/api/tenants',
      title: 'List the tenants that the user belongs to',
      access: user(),
      output: listShape(tenantShape),
      handle: async ({ caller }) => list((await tenants.listOf(caller.userId)).map(tenantFrom)),
    }),
    declare({
      name: 'tenants.read',
      method: 'GET',
      path: '/api/tenants/:id',
      title: 'One tenant',
      access: tenantUserAt('id', null),
      params,
      absent: 'tenant_not_found',
      output: keptTenant,
      handle: async ({ caller }) => one(keptTenantFrom(await tenants.read(caller.scope, caller.role))),
    }),
    declare({
      name: 'tenants.update',
      method: 'PATCH',
      audit: 'tenants.update',
      path: '/api/tenants/:id',
      title: 'Change the name, the budget, the names of models, or for how many days data is kept',
      description:
        'A missing field stays. `budget: null` removes the budget. `retention` takes 1 to 3650 days; null restores the default. `model_aliases` replaces all of the names that stand for models in calls and agents, at most 100; null removes them.',
      access: tenantUserAt('id', 'tenants:update'),
      params,
      absent: 'tenant_not_found',
      body: z.object({
        name: displayName.optional(),
        budget: budgetShape.nullish(),
        retention: retentionPatch.optional(),
        model_aliases: modelAliases.nullish(),
      }),
      output: keptTenant,
      handle: async ({ caller, body: { model_aliases, ...rest } }) => {
        const { scope, role } = caller;
        checkAliases(model_aliases ?? {}, isKnownModel);
        const body = { ...rest, modelAliases: model_aliases };
        const isEmpty = Object.values(body).every((value) => value === undefined);
        const tenant = isEmpty
          ? await tenants.read(scope, role)
          : await tenants.change(scope, role, body, actorOf(caller));
        return one(keptTenantFrom(tenant));
      },
    }),
    declare({
      name: 'tenants.plan',
      method: 'PATCH',
      audit: { action: 'tenants.plan', by: 'subject' },
      path: '/api/tenants/:id/plan',
      title: "Change a tenant's plan, or override figures of the plan",
      access: operator(),
      params,
      absent: 'tenant_not_found',
      body: z.object({ plan: z.enum(plans).optional(), settings: settingsPatch.nullish() }),
      output: oneShape(plannedTenantShape),
      errors: ['tenant_not_found'],
      handle: async ({ caller, params: { id }, body }) =>
        one(plannedTenantFrom(await tenants.setPlan(id, body, actorOf(caller)))),
    }),
  ];
}
