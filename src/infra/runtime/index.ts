// The interface to actors: the kinds that this node hosts, references to actors on any node, durable commits, recovery
// and timers over the cluster's slots, and the start and stop of the node.
export { createActors, type ActorsParts, type ActorSettings } from './actors.js';
export { clusterIdentity, resealClusterIdentity } from './cluster-identity.js';
export { describeLinkProtection, linkProtectionOf, LinkProtectionError } from './link-protection.js';
export { countsOf } from './counts.js';
export { toPlatformError } from './failures.js';
export type { Actors, RecoveryHandle, TimersHandle } from './contract.js';
export { runningVersions, unstatedVersion } from './running-versions.js';
export type { NodeReport } from './readiness-probes.js';
export { requiredPart, UnreadableMessage, type WireEnum, wireEnum } from './wire-values.js';
