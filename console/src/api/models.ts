import { useQuery } from '@tanstack/react-query';
import type { components } from '@troupe/client';
import { useAllowed } from '../session/use-session';
import { api, take } from './client';
import { useKey } from './queries';

export type Model = components['schemas']['Model'];

/** Every model that the installation names, with prices, and whether the tenant can call it now. */
export function useModelQuery() {
  const mayRead = useAllowed('models:read');
  return useQuery({
    queryKey: useKey('models'),
    queryFn: ({ signal }) => take(api.GET('/api/v3/llm/models', { signal })),
    staleTime: 60_000,
    enabled: mayRead,
  });
}

/** The chat models; undefined while they are read. */
export function useModels(): readonly Model[] | undefined {
  const { data } = useModelQuery();
  return data?.data.filter(({ kind }) => kind === 'chat');
}
