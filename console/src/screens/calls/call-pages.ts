import type { paths } from '#api/openapi';
import { api, take, tenantHeader } from '../../api/client';
import type { Page } from '../../api/queries';

export type Call =
  paths['/api/telemetry/logs']['get']['responses'][200]['content']['application/json']['data'][number];

export interface CallFilter {
  readonly status?: 'success' | 'error' | undefined;
  readonly model?: string | undefined;
  readonly agent_id?: string | undefined;
}

const rowsMax = 50;

/** Where the next page begins: after these calls, which are the last ones of their millisecond that are shown. */
interface Place {
  readonly end_date: string;
  readonly shown: readonly string[];
}

/**
 * Calls of models, newest first. Pages of the API count from the newest call on, and a busy tenant has new ones at any time,
 * which would move the rows of one page into the next. So the next page is the first one of all calls before this one.
 */
export async function readCalls(
  filter: CallFilter,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Page<Call>> {
  const place = cursor === undefined ? undefined : (JSON.parse(cursor) as Place);
  const shown = place?.shown ?? [];
  const query = {
    ...filter,
    limit: rowsMax + shown.length,
    ...(place !== undefined && { end_date: place.end_date }),
  };
  const { data, pagination } = await take(
    api.GET('/api/telemetry/logs', { params: { query, header: tenantHeader() }, signal }),
  );
  const last = data.at(-1);
  return {
    rows: data.filter(({ id }) => !shown.includes(id)),
    next: pagination.pages > 1 && last !== undefined ? placeAfter(last, data) : undefined,
  };
}

function placeAfter({ timestamp }: Call, calls: readonly Call[]): string {
  const place: Place = {
    // The end itself is not included.
    end_date: new Date(Date.parse(timestamp) + 1).toISOString(),
    shown: calls.filter((call) => call.timestamp === timestamp).map(({ id }) => id),
  };
  return JSON.stringify(place);
}
