// The actors' face: which kinds live on this node, references to actors wherever they live, durable commits, recovery
// and timers over the cluster's slots, and the node's own start and end.
export { createActors, type ActorsParts, type ActorSettings } from './actors.js';
export { describeLinkProtection, linkProtectionOf, LinkProtectionError } from './link-protection.js';
export { countsOf } from './counts.js';
export { toPlatformError } from './failures.js';
export type { Actors, RecoveryHandle, TimersHandle } from './contract.js';
export type { NodeReport } from './readiness-probes.js';
