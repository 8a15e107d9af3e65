import { useMutation } from '@tanstack/react-query';
import type { paths } from '#api/openapi';
import { api, take } from '../../api/client';
import { queries, useKey } from '../../api/queries';
import { useTenant } from '../../session/use-session';
import { succeeded } from '../../ui/toasts';

type Change = NonNullable<paths['/api/tenants/{id}']['patch']['requestBody']>['content']['application/json'];

/** Changes the tenant as a submitted form says. */
export function useChange(changeOf: (form: FormData) => Change) {
  const { id } = useTenant();
  const [tenantKey, planKey] = [useKey('tenant'), useKey('billing')];
  return useMutation({
    mutationFn: (form: FormData) =>
      take(api.PATCH('/api/tenants/{id}', { params: { path: { id } }, body: changeOf(form) })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: tenantKey });
      await queries.invalidateQueries({ queryKey: planKey });
      succeeded('The settings were saved');
    },
  });
}
