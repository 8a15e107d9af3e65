import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api/client';
import { useKey } from '../../api/queries';
import type { Grouping } from './routes';

export const dayMs = 86_400_000;

export interface Range {
  /** Days in UTC, `2026-11-23`; both are included. */
  readonly start_date: string;
  readonly end_date: string;
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

export function lastDays(days: number, nowMs = Date.now()): Range {
  return { start_date: dayOf(nowMs - (days - 1) * dayMs), end_date: dayOf(nowMs) };
}

/** `byDay`: the days of the costliest groups too. */
export function useUsage(range: Range, by: Grouping, byDay = false) {
  return useQuery({
    queryKey: useKey('usage', range, by, byDay),
    queryFn: async ({ signal }) => {
      const query = { ...range, group_by: by, ...(byDay && { by_day: true }) };
      const { data } = await take(api.GET('/api/billing/usage', { params: { query }, signal }));
      return data;
    },
  });
}

export type Usage = NonNullable<ReturnType<typeof useUsage>['data']>;
export type UsageGroup = Usage['groups'][number];

/** Every day of the range in order; the API leaves out days without calls. The key of a row is its day. */
export function everyDay(
  groups: readonly Pick<UsageGroup, 'key' | 'cost' | 'input_tokens' | 'output_tokens'>[],
  { start_date, end_date }: Range,
) {
  const known = new Map(groups.map((group) => [group.key.slice(0, 10), group]));
  const days: { readonly at: number; readonly cost: number; readonly tokens: number }[] = [];
  for (let ms = Date.parse(start_date); ms <= Date.parse(end_date); ms += dayMs) {
    const day = known.get(dayOf(ms));
    // Noon: the bar stands below the same date in all zones but the farthest.
    const at = ms + dayMs / 2;
    days.push({ at, cost: day?.cost ?? 0, tokens: (day?.input_tokens ?? 0) + (day?.output_tokens ?? 0) });
  }
  return days;
}
