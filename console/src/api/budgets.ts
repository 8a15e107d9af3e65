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

/** The lists end after some megabytes, and continue with a cursor. */
async function allOf<Row>(
  read: (cursor: string | undefined) => Promise<{
    readonly data: readonly Row[];
    readonly next_cursor?: string | null | undefined;
  }>,
): Promise<readonly Row[]> {
  let rows: readonly Row[] = [];
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    rows = rows.concat(page.data);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return rows;
}

export async function keyBudgets(signal: AbortSignal): Promise<readonly SpentBudget[]> {
  const keys = await allOf((cursor) =>
    take(api.GET('/api/keys', { params: { query: { cursor }, header: tenantHeader() }, signal })),
  );
  const budgeted = keys.flatMap(({ id, name, status, budget }) =>
    status === 'active' && budget !== undefined ? [{ id, name, budget }] : [],
  );
  return spentOf('key', budgeted, signal);
}

export async function agentBudgets(signal: AbortSignal): Promise<readonly SpentBudget[]> {
  const agents = await allOf((cursor) =>
    take(api.GET('/api/agents', { params: { query: { budgeted: true, cursor } }, signal })),
  );
  const budgeted = agents.flatMap(({ id, commercial_name: name, budget }) =>
    budget === undefined ? [] : [{ id, name, budget }],
  );
  return spentOf('agent', budgeted, signal);
}

/** Of a budget of nothing everything is spent. */
export const shareOf = ({ budget: { usd }, spent }: SpentBudget): number => (usd === 0 ? 1 : spent / usd);
