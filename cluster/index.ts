export { Call } from './activation/call.js';
export {
  deactivated,
  durableActor,
  volatileActor,
  type Activation,
  type ActorKindOf,
  type DurableActivation,
  type EndReason,
  type Kind,
  type Lifecycle,
} from './activation/kind.js';
export type { ServiceShape } from './activation/method.js';
export type { CallOptions, Handlers, Reference } from './activation/service.js';
export * from './config.js';
export type { DrainResult } from './drain/drain.js';
export * from './errors.js';
export * from './fencing/fence.js';
export { GroupCommit, type GroupCommitSettings } from './fencing/group-commit.js';
export * from './ids/ids.js';
export type { LinkSettings } from './links/links.js';
export type { Transport } from './links/pipe.js';
export { LocalMembership } from './membership/local/membership.js';
export * from './membership/membership.js';
export * from './membership/view.js';
export type { NodeDescription } from './node/describe.js';
export { ClusterNode, type NodeParts } from './node/node.js';
export { slotOf } from './ring/hash.js';
export { SlotSet } from './ring/slot-set.js';
export { ReplyStream, type StreamEnd } from './streams/reply-stream.js';
export * from './time/backoff.js';
export * from './time/system.js';
export * from './time/time.js';
export { GrpcPeers } from './links/grpc/peers.js';
export type { GrpcSettings, GrpcTls } from './links/grpc/settings.js';
export { PostgresFenceStore, type PostgresTables } from './fencing/postgres/fence-store.js';
export type { Row, Statement } from './fencing/postgres/connections.js';
export { PostgresNumbers } from './fencing/postgres/view-numbers.js';
export { ClusterMembership } from './membership/cluster-membership.js';
export type { MembershipEvent } from './membership/perspective.js';
export { parseRedisAddress, RedisAddressError } from './membership/redis/address.js';
export { openRedisMembers } from './membership/redis/member-store.js';
export { hasExited, hostName } from './membership/watchdog/host.js';
export { Watchdog } from './membership/watchdog/watchdog.js';
export {
  Recovery,
  type RecoveryCounts,
  type RecoveryNode,
  type RecoverySource,
  type UnfinishedWork,
} from './recovery/recovery.js';
export { DurableTimers, type DueTimer, type TimerSource } from './recovery/durable-timers.js';
export { openClusteredNode, type ClusteredNode, type ClusteredNodeOptions } from './node/clustered-node.js';
