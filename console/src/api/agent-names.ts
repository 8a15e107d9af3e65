import { useQuery } from '@tanstack/react-query';
import { api, take } from './client';
import { useKey } from './queries';

/** The names of the tenant's agents, by id; those of archived ones too. */
export function useAgentNames(): ReadonlyMap<string, string> {
  const { data } = useQuery({
    queryKey: useKey('agent names'),
    queryFn: ({ signal }) =>
      take(api.GET('/api/agents', { params: { query: { includeArchived: true } }, signal })),
    staleTime: 60_000,
    select: ({ data: agents }): ReadonlyMap<string, string> =>
      new Map(agents.map(({ id, name }) => [id, name])),
  });
  return data ?? none;
}

const none: ReadonlyMap<string, string> = new Map();
