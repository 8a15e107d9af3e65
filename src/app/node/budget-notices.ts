import { recordRealtimeEvent } from '../../conversations/realtime/index.js';
import { type Mail, renderMail } from '../../infra/mail/index.js';
import type { TenantTransaction } from '../../infra/storage/index.js';
import { usdOf } from '../../kernel/budget.js';
import { ownerMails } from '../../tenancy/identity/index.js';
import type { BudgetThreshold } from '../../tenancy/quota/index.js';

/**
 * Tells a tenant's owners, by mail and as a realtime event, that a budget has reached a threshold. With `verifiedOnly` no
 * mail goes to an address that its owner has not verified: it may be anybody's.
 */
export function budgetNotices(parts: {
  readonly mail: Pick<Mail, 'queue' | 'wake'>;
  readonly publicUrl: () => string;
  readonly verifiedOnly: boolean;
}) {
  const { mail, publicUrl, verifiedOnly } = parts;
  return async (tx: TenantTransaction, reached: BudgetThreshold): Promise<() => void> => {
    const { budget, percent, spent } = reached;
    const { scope, id, limit } = budget;
    for (const to of await ownerMails(tx, verifiedOnly)) {
      await mail.queue(tx, { tenantId: tx.scope.tenantId, to, ...budgetMail(reached, publicUrl()) });
    }
    const data = { scope, id, percent, spent_usd: usdOf(spent), limit_usd: usdOf(limit) };
    await recordRealtimeEvent(tx, { type: 'budget_threshold', data });
    return () => mail.wake();
  };
}

export function budgetMail(
  { budget, percent, spent }: BudgetThreshold,
  publicUrl: string,
): ReturnType<typeof renderMail> {
  const { scope, id, limit, period } = budget;
  return renderMail({
    subject: `A budget has reached ${percent} %`,
    opening: `The model calls of this ${period} have reached ${percent} % of a budget.`,
    facts: [
      ['Budget of', `${scope} ${id}`],
      ['Spent', `${usdOf(spent)} USD`],
      ['Limit', `${usdOf(limit)} USD per ${period}`],
    ],
    action: {
      label: 'The documentation tells how to read the usage and change the budget',
      link: `${publicUrl.replace(/\/+$/, '')}/docs`,
    },
    closing: [
      percent === 100
        ? `Further calls are refused until the ${period} ends (UTC) or the budget is raised.`
        : 'Calls are refused once the budget is spent.',
    ],
  });
}
