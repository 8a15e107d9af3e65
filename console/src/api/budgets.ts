import { api, take, tenantHeader } from './client';

type Period = 'day' | 'month';

export interface Budget {
  readonly usd: number;
  readonly period: Period;
}

/** A budget with what was spent of it in its present day or month (UTC). */
export interface SpentBudget {
  readonly id: string;
  /** `the tenant`, `the key Nightly`. */
  readonly of: string;
  readonly budget: Budget;
  readonly spent: number;
}

/** The longest page of a list. */
const pageMax = 100;

function startOf(period: Period): string {
  const now = new Date();
  const day = period === 'month' ? 1 : now.getUTCDate();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), day)).toISOString();
}

/** The tenant's own budget. */
export async function tenantBudget(signal: AbortSignal): Promise<readonly SpentBudget[]> {
  const { data: plan } = await take(api.GET('/api/billing/plan', { signal }));
  if (plan.budget === null) return [];
  const query = { start_date: startOf(plan.budget.period) };
  const { data: usage } = await take(api.GET('/api/billing/usage', { params: { query }, signal }));
  return [{ id: 'tenant', of: 'the tenant', budget: plan.budget, spent: usage.total.cost }];
}

interface Budgeted {
  readonly id: string;
  readonly name: string;
  readonly budget: Budget;
}

/** What each of them spent is read once for each period that one of them has. */
async function spentOf(
  group: 'key' | 'agent',
  all: readonly Budgeted[],
  signal: AbortSignal,
): Promise<readonly SpentBudget[]> {
  const found = (['day', 'month'] as const).map(async (period) => {
    const some = all.filter(({ budget }) => budget.period === period);
    if (some.length === 0) return [];
    const query = { start_date: startOf(period), group_by: group };
    const { data } = await take(api.GET('/api/billing/usage', { params: { query }, signal }));
    const costs = new Map(data.groups.map(({ key, cost }) => [key, cost]));
    return some.map(({ id, name, budget }) => ({
      id,
      of: `the ${group} ${name}`,
      budget,
      spent: costs.get(id) ?? 0,
    }));
  });
  return (await Promise.all(found)).flat();
}

export async function keyBudgets(signal: AbortSignal): Promise<readonly SpentBudget[]> {
  const query = { limit: pageMax };
  const params = { query, header: tenantHeader() };
  const { data } = await take(api.GET('/api/keys', { params, signal }));
  const budgeted = data.flatMap(({ id, name, status, budget }) =>
    status === 'active' && budget !== undefined ? [{ id, name, budget }] : [],
  );
  return spentOf('key', budgeted, signal);
}

/** The list of agents leaves their budgets out, so the costliest ones are read. */
const agentsRead = 5;

export async function agentBudgets(signal: AbortSignal): Promise<readonly SpentBudget[]> {
  const query = { start_date: startOf('month'), group_by: 'agent' } as const;
  const { data: usage } = await take(api.GET('/api/billing/usage', { params: { query }, signal }));
  const costly = usage.groups
    // Direct calls have no agent.
    .filter(({ key, cost }) => key !== '' && cost > 0)
    .toSorted((a, b) => b.cost - a.cost)
    .slice(0, agentsRead);
  const read = costly.map(async ({ key }) => {
    const path = { id: key };
    const { data } = await take(api.GET('/api/agents/{id}', { params: { path }, signal }));
    const budget = budgetIn(data.metadata['budget']);
    return budget === undefined ? [] : [{ id: data.id, name: data.commercial_name, budget }];
  });
  return spentOf('agent', (await Promise.all(read)).flat(), signal);
}

/** `metadata.budget` of an agent is what somebody wrote there. */
function budgetIn(value: unknown): Budget | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { usd, period } = value as Partial<Budget>;
  return typeof usd === 'number' && (period === 'day' || period === 'month') ? { usd, period } : undefined;
}

/** Of a budget of nothing everything is spent. */
export const shareOf = ({ budget: { usd }, spent }: SpentBudget): number => (usd === 0 ? 1 : spent / usd);
