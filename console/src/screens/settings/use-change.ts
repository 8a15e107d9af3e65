import type { paths } from '#api/openapi';
import { api, take } from '../../api/client';
import { queries, useKey } from '../../api/queries';
import { useTenant } from '../../session/use-session';

type Change = NonNullable<paths['/api/tenants/{id}']['patch']['requestBody']>['content']['application/json'];

/** Changes the tenant, and reads again what shows it. */
export function useChange(): (body: Change) => Promise<void> {
  const { id } = useTenant();
  const [tenantKey, budgetsKey] = [useKey('tenant'), useKey('budgets')];
  return async (body) => {
    await take(api.PATCH('/api/tenants/{id}', { params: { path: { id } }, body }));
    await Promise.all([tenantKey, budgetsKey].map((queryKey) => queries.invalidateQueries({ queryKey })));
  };
}
