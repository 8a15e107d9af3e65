import { z } from 'zod';
import { roles } from '../../kernel/caller.js';
import { plans, tenantSettings } from '../../kernel/plans/index.js';
import { type AccountOverview, nameOf, tenantStatuses } from '../../tenancy/identity/index.js';
import type { TenantReport } from './reports.js';
import { named } from '../../http/operations/index.js';

const moment = z.iso.datetime();

export const tenantRow = named(
  'OperatorTenant',
  z.object({
    id: z.uuid(),
    name: z.string(),
    plan: z.enum(plans),
    settings: tenantSettings.describe('Figures that override those of the plan.'),
    status: z.enum(tenantStatuses),
    suspended_at: moment.nullable(),
    suspend_reason: z.string().nullable(),
    members: z.int(),
    month: z
      .object({ tokens: z.int(), cost: z.number(), calls: z.int() })
      .describe('Model calls of the calendar month (UTC), whoever paid for them.'),
    last_seen: moment
      .nullable()
      .describe("The last use of one of the tenant's keys, or the last model call of the month."),
    created_at: moment,
  }),
);

export function tenantRowFrom(report: TenantReport): z.input<typeof tenantRow> {
  const { suspended_at: suspendedAt } = report;
  return {
    id: report.id,
    name: report.name,
    plan: report.plan,
    settings: report.settings,
    status: report.status,
    suspended_at: suspendedAt?.toISOString() ?? null,
    suspend_reason: report.suspend_reason,
    members: report.members,
    month: report.month,
    last_seen: report.last_seen?.toISOString() ?? null,
    created_at: report.created_at.toISOString(),
  };
}

export const userStatuses = ['active', 'disabled'] as const;

export const userRow = named(
  'OperatorUser',
  z.object({
    id: z.uuid(),
    email: z.string(),
    name: z.string(),
    status: z.enum(userStatuses),
    email_verified: z.boolean(),
    tenants: z.array(z.object({ id: z.uuid(), name: z.string(), role: z.enum(roles) })),
    created_at: moment,
  }),
);

export function userRowFrom(account: AccountOverview): z.input<typeof userRow> {
  return {
    id: account.id,
    email: account.email,
    name: nameOf(account),
    status: account.disabled ? 'disabled' : 'active',
    email_verified: account.email_verified,
    tenants: [...account.tenants],
    created_at: account.created_at.toISOString(),
  };
}

export const usageFigures = {
  calls: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost: z.number(),
} as const;
