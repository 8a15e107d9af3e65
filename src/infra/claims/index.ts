// Work that several processes share: a loop that claims and sweeps rows, and a limiter that is fair between tenants.
export { ClaimLoop, type ClaimLoopParts, type Later } from './claim-loop.js';
export { FairLimiter, type FairLimiterLimits } from './fair-limiter.js';
export { TaskLimiter } from './task-limiter.js';
