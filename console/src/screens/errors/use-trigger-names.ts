import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api/client';
import { useKey } from '../../api/queries';
import { useAllowed } from '../../session/use-session';

const none: ReadonlyMap<string, string> = new Map();

/** The names of the tenant's triggers, by id, for people who may see them. */
export function useTriggerNames(): ReadonlyMap<string, string> {
  const { data } = useQuery({
    queryKey: useKey('triggers', 'names'),
    queryFn: ({ signal }) => take(api.GET('/api/triggers', { signal })),
    enabled: useAllowed('triggers:read'),
    staleTime: 60_000,
    select: (answer): ReadonlyMap<string, string> => new Map(answer.data.map(({ id, name }) => [id, name])),
  });
  return data ?? none;
}
