import { useQuery } from '@tanstack/react-query';
import { api, take } from './client';
import { useKey } from './queries';
import { useAllowed } from '../session/use-session';

/** The names of the tenant's secrets, for people who may see them. */
export function useSecretNames(): readonly string[] {
  const { data } = useQuery({
    queryKey: useKey('secrets', 'names'),
    queryFn: ({ signal }) => take(api.GET('/api/secrets', { params: { query: { limit: 100 } }, signal })),
    enabled: useAllowed('secrets:read'),
  });
  return data?.data.map(({ name }) => name) ?? [];
}
