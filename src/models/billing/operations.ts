import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import { modelTiersOf, plans } from '../../kernel/plans/index.js';
import {
  declare,
  one,
  oneShape,
  type Operation,
  queryFlag,
  tenantCaller,
} from '../../http/operations/index.js';
import type { Store } from '../../infra/storage/index.js';
import { momentText, partsOf, reportRange } from '../telemetry/index.js';
import { usageByDay, usageGroups, type UsageReport, usageTotals } from '../usage/index.js';
import { labelsOf, type Names } from './labels.js';

export interface BillingOperationParts {
  readonly store: Store;
  readonly time: Time;
  readonly names: Names;
}

/** Without a range, the last 30 days. */
const daysDefault = 30;

/** The groups whose days are told: a chart has no more colours, and a tenant may have many thousand users. */
const groupsByDayMax = 8;

const figures = {
  calls: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost: z.number(),
} as const;

export function billingOperations({ store, time, names }: BillingOperationParts): readonly Operation[] {
  return [
    declare({
      name: 'billing.plan',
      method: 'GET',
      path: '/api/billing/plan',
      title: 'The plan: limits, model tiers, period and budget',
      access: tenantCaller('billing:read'),
      output: oneShape(
        z.object({
          plan: z.enum(plans),
          limits: z.object({
            requests_per_minute: z.int(),
            requests_per_day: z.int(),
            monthly_tokens: z.int(),
            key_rpm_max: z.int(),
          }),
          tiers: z.array(z.string()),
          period: z.object({ start: z.iso.datetime(), end: z.iso.datetime() }),
          budget: z.object({ usd: z.number(), period: z.enum(['day', 'month']) }).nullable(),
        }),
      ),
      handle: ({ caller: { limits } }) =>
        one({
          plan: limits.plan,
          limits: {
            requests_per_minute: limits.requestsPerMinute,
            requests_per_day: limits.requestsPerDay,
            monthly_tokens: limits.monthlyTokens,
            key_rpm_max: limits.keyRpmMax,
          },
          tiers: [...modelTiersOf(limits.plan)],
          period: monthOf(time.wallMs()),
          budget: limits.budget ?? null,
        }),
    }),
    declare({
      name: 'billing.usage',
      method: 'GET',
      path: '/api/billing/usage',
      title: 'Calls, tokens and cost of a period, in groups',
      description: `Without a range, the last 30 days. An end without a time includes its day. \`by_day\` adds the days (UTC) of the ${groupsByDayMax} groups that cost most.`,
      access: tenantCaller('billing:read'),
      query: z.object({
        start_date: momentText.optional(),
        end_date: momentText.optional(),
        group_by: z.enum(usageGroups).default('day'),
        by_day: queryFlag.optional(),
      }),
      output: oneShape(
        z.object({
          currency: z.literal('USD'),
          total: z.object(figures),
          groups: z.array(
            z.object({
              key: z.string(),
              label: z.string(),
              ...figures,
              days: z.array(z.object({ day: z.string(), ...figures })).optional(),
            }),
          ),
        }),
      ).extend({ count: z.int() }),
      handle: async ({ caller: { scope }, query }) => {
        const range = reportRange(query, time.wallMs(), daysDefault);
        const parts = { ...range, ...partsOf(range) };
        const wanted = { group: query.group_by, groupsMax: groupsByDayMax };
        const report: UsageReport = await (query.by_day === true
          ? usageByDay(store, scope, parts, wanted)
          : store.inTenant(scope, (tx) => usageTotals(scope, tx, parts, query.group_by)));
        const { total, groups, days } = report;
        const labelOf = await labelsOf(
          names,
          scope,
          query.group_by,
          groups.map(({ key }) => key),
        );
        const labelled = groups.map((group) => {
          const ofDays = days?.get(group.key);
          return { ...group, label: labelOf(group.key), ...(ofDays !== undefined && { days: [...ofDays] }) };
        });
        return { ...one({ currency: 'USD' as const, total, groups: labelled }), count: groups.length };
      },
    }),
  ];
}

function monthOf(nowMs: number): { start: string; end: string } {
  const now = new Date(nowMs);
  const at = (month: number): string => new Date(Date.UTC(now.getUTCFullYear(), month, 1)).toISOString();
  return { start: at(now.getUTCMonth()), end: at(now.getUTCMonth() + 1) };
}
