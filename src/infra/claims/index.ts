// Work that several processes share: one loop that claims, holds and sweeps, and one limiter that is fair to tenants.
export { ClaimLoop, type ClaimLoopParts, type Later } from './claim-loop.js';
export { FairLimiter, type FairLimiterLimits } from './fair-limiter.js';
export { TaskLimiter } from './task-limiter.js';
