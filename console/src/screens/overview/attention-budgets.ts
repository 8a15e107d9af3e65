import * as budgets from '../../api/budgets';
import { dollars } from '../../ui/numbers';
import type { Attention } from './attention-item';

/** From this share on a budget is shown; the API tells its owners at the same one. */
const noticedShare = 0.8;

function itemsOf(all: readonly budgets.SpentBudget[]): readonly Attention[] {
  return all.flatMap((one) => {
    const share = budgets.shareOf(one);
    if (share < noticedShare) return [];
    const { id, of, budget, spent } = one;
    const part = share >= 1 ? 'is spent' : `is spent to ${Math.floor(share * 100)} %`;
    return [
      {
        id: `budget ${id}`,
        tone: share >= 1 ? ('bad' as const) : ('warn' as const),
        title: `The budget of ${of} ${part}`,
        detail: `${dollars(spent)} of ${dollars(budget.usd)} this ${budget.period}`,
        path: '/usage',
      },
    ];
  });
}

type Read = (signal: AbortSignal) => Promise<readonly Attention[]>;

export const tenantBudget: Read = async (signal) => itemsOf(await budgets.tenantBudget(signal));
export const keyBudgets: Read = async (signal) => itemsOf(await budgets.keyBudgets(signal));
export const agentBudgets: Read = async (signal) => itemsOf(await budgets.agentBudgets(signal));
