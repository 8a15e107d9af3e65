import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { SealedPlace } from '../../infra/sealing/index.js';

export function placeOf({ tenantId }: TenantScope, seed: string): SealedPlace {
  return ['kept answer', tenantId, seed];
}
