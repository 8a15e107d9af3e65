import { z } from 'zod';
import type { Time } from '../../cluster/index.js';
import { declare, type Operation, tenantCaller } from '../operations/index.js';
import { monthResetAt } from './calendar.js';
import type { MonthlyUsage } from './monthly-usage.js';

const quota = z.object({
  limit: z.number(),
  used: z.number(),
  remaining: z.number(),
  reset_date: z.iso.datetime(),
});

export function quotaOperations(usage: MonthlyUsage, time: Time): readonly Operation[] {
  return [
    declare({
      name: 'quota.read',
      method: 'GET',
      path: '/api/quota',
      title: 'Tokens of this month: the limit, what is used, what remains, and when they start anew.',
      access: tenantCaller('quota:read'),
      output: z.object({ success: z.literal(true), quota }),
      handle({ caller }) {
        const answer = (used: number) => {
          const limit = caller.limits.monthlyTokens;
          return {
            success: true as const,
            quota: {
              limit,
              used,
              remaining: Math.max(0, limit - used),
              reset_date: monthResetAt(time.wallMs()),
            },
          };
        };
        const used = usage.used(caller.scope);
        return typeof used === 'number' ? answer(used) : used.then(answer);
      },
    }),
  ];
}
