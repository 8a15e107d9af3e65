import { z } from 'zod';
import {
  declare,
  one,
  oneShape,
  type Operation,
  operator,
  tenantUserAt,
  givenUuid,
} from '../../http/operations/index.js';
import { actorOf } from '../../kernel/caller.js';
import { tenantScope } from '../../kernel/tenant-scope.js';
import type { TenantDeletion } from './tenant-deletion.js';

const shared = {
  method: 'DELETE',
  params: z.object({ id: givenUuid }),
  absent: 'tenant_not_found',
  body: z.object({ confirm: z.string().max(1_000).describe("The tenant's name.") }),
  status: 202,
  output: oneShape(z.object({ id: z.uuid(), status: z.literal('deleting') })),
  errors: ['tenant_not_found'],
} as const;
const description =
  'Cannot be undone. From the answer on its credentials and triggers are 404, its turns are cancelled and its secrets cannot be opened; its rows are gone within minutes.';

export function tenantDeletionOperations(deletion: Pick<TenantDeletion, 'delete'>): readonly Operation[] {
  return [
    declare({
      ...shared,
      name: 'tenants.delete',
      path: '/api/tenants/:id',
      title: 'Delete a tenant and everything in it',
      description,
      audit: 'tenants.delete',
      access: tenantUserAt('id', 'tenants:delete'),
      handle: async ({ caller, body }) => {
        await deletion.delete(caller.scope, body.confirm, actorOf(caller));
        return one({ id: caller.scope.tenantId, status: 'deleting' as const });
      },
    }),
    declare({
      ...shared,
      name: 'operator.tenant-delete',
      path: '/api/v1/operator/tenants/:id',
      title: 'Delete a tenant of the installation and everything in it',
      description,
      audit: { action: 'tenant.deleting', by: 'subject' },
      access: operator(),
      handle: async ({ caller, params: { id }, body }) => {
        await deletion.delete(tenantScope(id), body.confirm, actorOf(caller));
        return one({ id, status: 'deleting' as const });
      },
    }),
  ];
}
