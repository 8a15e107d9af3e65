import { useQuery } from '@tanstack/react-query';
import { api, take } from './client';
import { useKey } from './queries';

/** A tenant with more agents sees the ids of the others. */
const pagesMax = 10;

/** The names of the tenant's agents, by id, as people know them; those of archived ones too. */
export function useAgentNames(): ReadonlyMap<string, string> {
  const { data } = useQuery({
    queryKey: useKey('agent names'),
    queryFn: async ({ signal }): Promise<ReadonlyMap<string, string>> => {
      const names = new Map<string, string>();
      let cursor: string | undefined;
      for (let page = 0; page < pagesMax; page += 1) {
        const query = { includeArchived: true, limit: 100, cursor };
        const { data: agents, next_cursor: next } = await take(
          api.GET('/api/agents', { params: { query }, signal }),
        );
        for (const { id, commercial_name: name } of agents) names.set(id, name);
        if (next === null || next === undefined) break;
        cursor = next;
      }
      return names;
    },
    staleTime: 60_000,
  });
  return data ?? none;
}

const none: ReadonlyMap<string, string> = new Map();
