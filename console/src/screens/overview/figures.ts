import { useQuery } from '@tanstack/react-query';
import { api, take, tenantHeader } from '../../api/client';
import { useKey } from '../../api/queries';

/** The overview reads again this often: figures of a busy tenant change with every call. */
export const refreshMs = 10_000;

export interface Figures {
  /** Calls are counted from the beginning of an hour on. */
  readonly callsSince: Date;
  readonly requests: number;
  readonly turns: number;
  readonly failedTurns: number;
  readonly tokens: number;
  readonly cost: number;
  readonly errors: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

const hourMs = 3_600_000;

/** Turns of the last hours until now, and calls of these and of the begun hour before them. */
export function useFigures(hours: number) {
  return useQuery({
    queryKey: useKey('overview', 'figures', hours),
    refetchInterval: refreshMs,
    queryFn: async ({ signal }): Promise<Figures> => {
      const present = Math.floor(Date.now() / hourMs) * hourMs;
      // Whole hours: the platform has their sums, and would add up the calls of a part one by one.
      const callsSince = new Date(present - hours * hourMs);
      const range = {
        start_date: callsSince.toISOString(),
        end_date: new Date(present + hourMs).toISOString(),
      };
      const [{ data: calls }, { data: turns }] = await Promise.all([
        take(api.GET('/api/telemetry/metrics', { params: { query: range, header: tenantHeader() }, signal })),
        take(
          api.GET('/api/telemetry/turns', {
            params: { query: { hours }, header: tenantHeader() },
            signal,
          }),
        ),
      ]);
      return {
        callsSince,
        requests: calls.totalRequests,
        turns: turns.total,
        failedTurns: turns.by_status.failed + turns.by_status.timeout,
        tokens: calls.totalTokens,
        cost: calls.cost,
        errors: calls.errorCount,
        p50Ms: calls.latency.p50_ms,
        p95Ms: calls.latency.p95_ms,
      };
    },
  });
}

export interface HourOfUse {
  readonly at: number;
  readonly requests: number;
  readonly tokens: number;
  readonly cost: number;
}

export function useHours() {
  return useQuery({
    queryKey: useKey('overview', 'hours'),
    refetchInterval: 60_000,
    queryFn: async ({ signal }): Promise<readonly HourOfUse[]> => {
      const { data } = await take(
        api.GET('/api/telemetry/usage-by-hour', {
          params: { query: { hours: 24 }, header: tenantHeader() },
          signal,
        }),
      );
      return data.map(({ hour, requests, tokens, cost }) => ({
        at: Date.parse(`${hour.replace(' ', 'T')}:00Z`),
        requests,
        tokens,
        cost,
      }));
    },
  });
}
