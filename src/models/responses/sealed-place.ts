import type { SealedPlace } from '../../infra/sealing/index.js';

/** A row that was copied to another tenant or id does not open there. */
export function placeOf(tenantId: string, id: string): SealedPlace {
  return ['response', tenantId, id];
}
