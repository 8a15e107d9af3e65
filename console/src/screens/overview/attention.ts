import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api/client';
import { useKey } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import type { Tone } from '../../ui/badge';
import { dollars } from '../../ui/numbers';
import { refreshMs } from './figures';

/** One thing that a person should look at. */
export interface Attention {
  readonly id: string;
  readonly tone: Tone;
  readonly title: string;
  readonly detail: string;
  /** The screen that shows it, where there is one. */
  readonly path: string;
}

const pageMax = 100;
const dayMs = 86_400_000;
const many = (rows: readonly unknown[], more: unknown): string =>
  more === undefined || more === null ? String(rows.length) : `${rows.length}+`;
const plural = (text: string, one: string, others: string): string => (text === '1' ? one : others);

async function approvals(signal: AbortSignal): Promise<readonly Attention[]> {
  const { data, ...page } = await take(
    api.GET('/api/v1/approvals', {
      params: { query: { status: 'pending', limit: pageMax } },
      signal,
    }),
  );
  if (data.length === 0) return [];
  const number = many(data, nextOf(page));
  const tools = [...new Set(data.map(({ tool }) => tool))].slice(0, 3).join(', ');
  return [
    {
      id: 'approvals',
      tone: 'warn',
      title: `${number} ${plural(number, 'tool call waits', 'tool calls wait')} for a decision`,
      detail: tools,
      path: '/inbox',
    },
  ];
}

async function handoffs(signal: AbortSignal): Promise<readonly Attention[]> {
  const { data, ...page } = await take(
    api.GET('/api/v1/sessions', {
      params: { query: { control_mode: 'manual_handoff', limit: pageMax } },
      signal,
    }),
  );
  if (data.length === 0) return [];
  const number = many(data, nextOf(page));
  return [
    {
      id: 'handoffs',
      tone: 'accent',
      title: `${number} ${plural(number, 'conversation is', 'conversations are')} with people`,
      detail: 'The agent is silent until somebody resumes it.',
      path: '/inbox',
    },
  ];
}

async function deliveries(signal: AbortSignal): Promise<readonly Attention[]> {
  const { data, ...page } = await take(
    api.GET('/api/v1/deliveries', {
      params: { query: { status: 'delivery_failed', limit: pageMax } },
      signal,
    }),
  );
  if (data.length === 0) return [];
  const number = many(data, nextOf(page));
  return [
    {
      id: 'deliveries',
      tone: 'bad',
      title: `${number} ${plural(number, 'answer was', 'answers were')} not delivered`,
      detail: data[0]?.last_error ?? 'The receiver refused them.',
      path: '/triggers',
    },
  ];
}

async function failures(signal: AbortSignal): Promise<readonly Attention[]> {
  const { data } = await take(
    api.GET('/api/v1/executions', {
      params: {
        query: {
          status: 'failed',
          limit: pageMax,
          start_date: new Date(Date.now() - dayMs).toISOString(),
        },
      },
      signal,
    }),
  );
  const byTrigger = new Map<string, number>();
  for (const { trigger_id: id } of data) if (id !== null) byTrigger.set(id, (byTrigger.get(id) ?? 0) + 1);
  return [...byTrigger].slice(0, 5).map(([id, number]) => ({
    id: `trigger ${id}`,
    tone: 'bad' as const,
    title: `A trigger failed ${number} ${number === 1 ? 'time' : 'times'} in the last day`,
    detail: `Trigger ${id}`,
    path: `/triggers/${id}`,
  }));
}

async function budget(signal: AbortSignal): Promise<readonly Attention[]> {
  const { data: plan } = await take(api.GET('/api/billing/plan', { signal }));
  if (plan.budget === null) return [];
  const today = new Date();
  const start =
    plan.budget.period === 'month'
      ? plan.period.start
      : new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate())).toISOString();
  const { data: usage } = await take(
    api.GET('/api/billing/usage', { params: { query: { start_date: start } }, signal }),
  );
  const share = usage.total.cost / plan.budget.usd;
  if (share < 0.8) return [];
  return [
    {
      id: 'budget',
      tone: share >= 1 ? 'bad' : 'warn',
      title: share >= 1 ? 'The budget is spent' : `${Math.floor(share * 100)} % of the budget is spent`,
      detail: `${dollars(usage.total.cost)} of ${dollars(plan.budget.usd)} this ${plan.budget.period}`,
      path: '/usage',
    },
  ];
}

async function quota(signal: AbortSignal): Promise<readonly Attention[]> {
  const answer = await take(api.GET('/api/quota', { signal }));
  const { limit, used } = answer.quota;
  if (limit === null || limit <= 0 || used / limit < 0.8) return [];
  return [
    {
      id: 'quota',
      tone: used >= limit ? 'bad' : 'warn',
      title: `${Math.floor((used / limit) * 100)} % of the month's tokens are used`,
      detail: `${used.toLocaleString()} of ${limit.toLocaleString()}`,
      path: '/usage',
    },
  ];
}

/** The cursor of the next page, whatever the list calls it. */
function nextOf(page: object): unknown {
  return (page as Readonly<Record<string, unknown>>)['next_cursor'];
}

/** What needs a person. A part that the role may not read is left out. */
export function useAttention() {
  const parts = [
    { read: approvals, allowed: useAllowed('sessions:read') },
    { read: handoffs, allowed: useAllowed('sessions:read') },
    { read: deliveries, allowed: useAllowed('messages:send') },
    { read: failures, allowed: useAllowed('executions:read') },
    { read: budget, allowed: useAllowed('billing:read') },
    { read: quota, allowed: useAllowed('quota:read') },
  ];
  return useQuery({
    queryKey: useKey('overview', 'attention'),
    refetchInterval: refreshMs * 3,
    queryFn: async ({ signal }) => {
      const found = await Promise.all(parts.filter(({ allowed }) => allowed).map(({ read }) => read(signal)));
      return found.flat();
    },
  });
}
