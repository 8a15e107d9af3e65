import type { paths } from '#api/openapi';
import { api, take } from '../../api/client';
import { queries, useKey } from '../../api/queries';
import { reloadSession } from '../../session/session';
import { useTenant } from '../../session/use-session';

type Change = NonNullable<paths['/api/tenants/{id}']['patch']['requestBody']>['content']['application/json'];

/** Changes the tenant, and reads again what shows it. */
export function useChange(): (body: Change) => Promise<void> {
  const { id, name } = useTenant();
  const [tenantKey, budgetsKey] = [useKey('tenant'), useKey('budgets')];
  return async (body) => {
    await take(api.PATCH('/api/tenants/{id}', { params: { path: { id } }, body }));
    const readings = [tenantKey, budgetsKey].map((queryKey) => queries.invalidateQueries({ queryKey }));
    await Promise.all(readings);
    // The sign-in holds the name that the frame shows. The change is saved, whether it can be read again or not.
    if (body.name !== undefined && body.name !== name) await reloadSession().catch(() => undefined);
  };
}
