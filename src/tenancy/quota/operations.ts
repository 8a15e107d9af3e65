import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import { type Ready, whenReady } from '../../kernel/ready.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { named, declare, type Operation, tenantCaller } from '../../http/operations/index.js';
import { monthResetAt } from './calendar.js';

const quota = named(
  'Quota',
  z.object({
    limit: z.number(),
    used: z.number(),
    remaining: z.number(),
    reset_date: z.iso.datetime(),
  }),
);

export function quotaOperations(
  used: (scope: TenantScope) => Ready<number>,
  time: Time,
): readonly Operation[] {
  return [
    declare({
      name: 'quota.read',
      method: 'GET',
      path: '/api/quota',
      title: 'Tokens of this month: limit, used, remaining, and the time of the reset.',
      access: tenantCaller('quota:read'),
      output: z.object({ success: z.literal(true), quota }),
      handle({ caller }) {
        return whenReady(used(caller.scope), (tokens) => {
          const limit = caller.limits.monthlyTokens;
          return {
            success: true as const,
            quota: {
              limit,
              used: tokens,
              remaining: Math.max(0, limit - tokens),
              reset_date: monthResetAt(time.wallMs()),
            },
          };
        });
      },
    }),
  ];
}
