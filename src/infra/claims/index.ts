// Work that several processes share: a loop that claims and sweeps rows, the end of claims whose process is gone, and a
// limiter that is fair between tenants.
export { ClaimLoop, type ClaimLoopParts, type Later } from './claim-loop.js';
export {
  type ClaimedTable,
  claimHolders,
  claimingProcess,
  releaseClaims,
  type ReleasedRows,
} from './claimed-table.js';
export { type ClaimedWork, type ClaimHolders, VoidClaims, type VoidClaimsParts } from './void-claims.js';
