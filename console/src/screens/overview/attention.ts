import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api/client';
import { useKey } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import { agentBudgets, keyBudgets, tenantBudget } from './attention-budgets';
import { deliveries } from './attention-deliveries';
import { type Attention, many, nextOf, pageMax, plural } from './attention-item';
import { triggers } from './attention-triggers';
import { refreshMs } from './figures';

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
      path: '/inbox?state=approval',
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
      path: '/inbox?state=waiting',
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

function unread(reason: unknown): Attention {
  return {
    id: 'unread',
    tone: 'warn',
    title: 'A part of this list could not be read',
    detail: reason instanceof Error ? reason.message : 'An unexpected error occurred.',
    path: '/errors',
  };
}

/** What needs a person. A part that the role may not read is left out. */
export function useAttention() {
  const [mayBill, mayReadTriggers] = [useAllowed('billing:read'), useAllowed('triggers:read')];
  const parts = [
    { read: approvals, allowed: useAllowed('sessions:read') },
    { read: handoffs, allowed: useAllowed('sessions:read') },
    { read: deliveries, allowed: useAllowed('messages:send') },
    { read: triggers, allowed: useAllowed('executions:read') && mayReadTriggers },
    { read: tenantBudget, allowed: mayBill },
    { read: keyBudgets, allowed: useAllowed('keys:read') && mayBill },
    { read: agentBudgets, allowed: mayBill },
    { read: quota, allowed: useAllowed('quota:read') },
  ];
  return useQuery({
    queryKey: useKey('overview', 'attention'),
    refetchInterval: refreshMs * 3,
    queryFn: async ({ signal }) => {
      const asked = parts.filter(({ allowed }) => allowed).map(({ read }) => read(signal));
      const answers = await Promise.allSettled(asked);
      const failed = answers.find((answer) => answer.status === 'rejected');
      signal.throwIfAborted();
      if (failed !== undefined && answers.every(({ status }) => status === 'rejected')) throw failed.reason;
      // A part that cannot be read hides nothing of the others.
      return [
        ...answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : [])),
        ...(failed === undefined ? [] : [unread(failed.reason)]),
      ];
    },
  });
}
