import { useQuery } from '@tanstack/react-query';
import type { paths } from '#api/openapi';
import { take } from '../../../api/client';
import { operatorApi, operatorKey } from '../operator-session';

export type OperatorTenant =
  paths['/api/v1/operator/tenants']['get']['responses'][200]['content']['application/json']['data'][number];

export function useOperatorTenant(id: string) {
  return useQuery({
    queryKey: operatorKey('tenants', 'one', id),
    queryFn: ({ signal }) =>
      take(operatorApi.GET('/api/v1/operator/tenants/{id}', { params: { path: { id } }, signal })),
  });
}
