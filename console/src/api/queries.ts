import {
  matchQuery,
  type Query,
  QueryClient,
  type QueryKey,
  useInfiniteQuery,
  type UseInfiniteQueryResult,
} from '@tanstack/react-query';
import { useSession } from '../session/use-session';
import type { Liveness } from './realtime';
import { ApiError, ConnectionError } from './errors';

/** Another attempt helps only where no answer came, or where the node said that it may. */
function mayRetry(failures: number, error: unknown): boolean {
  const isPassing = error instanceof ConnectionError || (error instanceof ApiError && error.status === 503);
  return failures < 2 && isPassing;
}

export const queries = new QueryClient({
  defaultOptions: {
    queries: { retry: mayRetry, staleTime: 5_000, refetchOnWindowFocus: true, enabled: isRead },
    mutations: { retry: false },
  },
});

/** The beginning of every key: what one tenant's person sees is never shown in another tenant. */
export function useKey(...rest: readonly unknown[]): readonly unknown[] {
  const { user, tenantId } = useSession();
  return [user.id, tenantId ?? 'no tenant', ...rest];
}

/**
 * Reads again what an event told of. A first reading that is under way may have seen the state before, and an invalidation
 * alone would end with its answer: it begins anew.
 */
export async function readAnew(queryKey: QueryKey): Promise<void> {
  await queries.cancelQueries({ queryKey, predicate: ({ state }) => state.data === undefined });
  await queries.invalidateQueries({ queryKey });
}

/** Keys, each with everything below it. */
interface Deletion {
  readonly deleted: readonly QueryKey[];
  readonly lists: readonly QueryKey[];
}

type Chosen = (query: Query) => boolean;

const beingDeleted = new Set<Chosen>();

/** Queries with an `enabled` of their own are read in any case. */
function isRead(query: Query): boolean {
  return ![...beingDeleted].some((isDeleted) => isDeleted(query));
}

/**
 * Deletes a thing and leaves its page, which `act` does both, and reads again what is shown of `lists`. The page and its
 * timers stay until the next one is ready, and the API would answer their requests with 404: from before the deletion
 * nothing of `deleted` is read. If `act` fails, the page goes on.
 */
export async function performDeletion(
  { deleted, lists }: Deletion,
  act: () => Promise<unknown>,
): Promise<void> {
  const isOf =
    (keys: readonly QueryKey[]): Chosen =>
    (query) =>
      keys.some((queryKey) => matchQuery({ queryKey }, query));
  const [isDeleted, isListed] = [isOf(deleted), isOf(lists)];
  beingDeleted.add(isDeleted);
  await queries.cancelQueries({ predicate: isDeleted });
  // Each change of a query's state makes its observers look again whether their timers shall run.
  for (const query of queries.getQueryCache().findAll({ predicate: isDeleted }))
    query.setState({ isInvalidated: true });
  try {
    await act();
  } catch (error) {
    beingDeleted.delete(isDeleted);
    void queries.invalidateQueries({ predicate: isDeleted });
    throw error;
  }
  await queries.invalidateQueries({ predicate: (query) => isListed(query) && !isDeleted(query) });
  beingDeleted.delete(isDeleted);
  queries.removeQueries({ predicate: isDeleted, type: 'inactive' });
}

export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Undefined after the last page. */
  readonly next: string | undefined;
}

export interface Pages<Row> {
  readonly rows: readonly Row[];
  readonly query: UseInfiniteQueryResult;
  readonly more: (() => void) | undefined;
  /** Whether new rows appear by themselves. */
  readonly liveness: Liveness;
}

/** A list that nothing tells of is read again so often, while somebody looks. */
export const liveEveryMs = 3_000;

/**
 * A list that continues with a cursor. `read` fetches one page. `live`: the first page is read again every few seconds; a
 * page that nobody sees reads nothing, nor does one with older rows, which would move below the reader.
 */
export function usePages<Row>(
  key: readonly unknown[],
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Row>>,
  options: PagesOptions = {},
): Pages<Row> {
  return usePagesOf(useKey(...key), read, options);
}

export interface PagesOptions {
  readonly enabled?: boolean;
  readonly live?: boolean;
}

/** The same for a list of no tenant: `queryKey` is whole. */
export function usePagesOf<Row>(
  queryKey: readonly unknown[],
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Row>>,
  { live = false, ...options }: PagesOptions = {},
): Pages<Row> {
  const query = useInfiniteQuery({
    queryKey,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    getNextPageParam: (page: Page<Row>) => page.next,
    ...options,
    refetchInterval: ({ state }) => live && (state.data?.pages.length ?? 1) === 1 && liveEveryMs,
  });
  const isLive = live && query.data?.pages.length === 1;
  // Read while rendering: the query tells of changes only of what was read then.
  const { isFetching } = query;
  const more = async (): Promise<void> => {
    // A next page would end a reading of the pages before it, and these would stay as they were.
    if (isFetching) await query.refetch({ cancelRefetch: false });
    await query.fetchNextPage();
  };
  return {
    rows: query.data?.pages.flatMap((page) => page.rows) ?? [],
    query,
    more: query.hasNextPage && !query.isFetchingNextPage ? () => void more() : undefined,
    liveness: !isLive ? 'off' : query.isError ? 'connecting' : 'live',
  };
}
