import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api/client';

/** How people sign in and register at this installation. */
export function useWays() {
  return useQuery({
    queryKey: ['ways to sign in'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => (await take(api.GET('/api/console/sign-in', { signal }))).data,
  });
}
