import { api, take } from '../../api/client';
import { type Attention, pageMax } from './attention-item';

const dayMs = 86_400_000;
const shownMax = 5;

/** Triggers whose source cannot be read, and those whose turns failed in the last day. */
export async function triggers(signal: AbortSignal): Promise<readonly Attention[]> {
  const since = new Date(Date.now() - dayMs).toISOString();
  const ended = (status: 'failed' | 'timeout') =>
    take(
      api.GET('/api/v1/executions', {
        params: { query: { status, limit: pageMax, start_date: since } },
        signal,
      }),
    );
  const [{ data: all }, { data: failed }, { data: late }] = await Promise.all([
    take(api.GET('/api/triggers', { params: { query: { limit: pageMax } }, signal })),
    ended('failed'),
    ended('timeout'),
  ]);
  const names = new Map(all.map(({ id, name }) => [id, name]));
  const nameOf = (id: string): string => names.get(id) ?? id;
  const failures = new Map<string, number>();
  for (const { trigger_id: id } of [...failed, ...late])
    if (id !== null) failures.set(id, (failures.get(id) ?? 0) + 1);
  const unread = all.filter(({ enabled, source }) => enabled && source !== undefined && source.failures > 0);
  return [
    ...unread.slice(0, shownMax).map(({ id, name, source }) => ({
      id: `source ${id}`,
      tone: 'bad' as const,
      title: `The trigger ${name} cannot read its source`,
      detail: source?.last_error ?? `It failed ${source?.failures ?? 0} times.`,
      path: `/triggers/${id}`,
    })),
    ...[...failures].slice(0, shownMax).map(([id, number]) => ({
      id: `trigger ${id}`,
      tone: 'bad' as const,
      title: `The trigger ${nameOf(id)} failed ${number} ${number === 1 ? 'time' : 'times'} in the last day`,
      detail: 'Its executions say why.',
      path: `/triggers/${id}?tab=executions&status=failed`,
    })),
  ];
}
