export { Call } from './activation/call.js';
export {
  deactivated,
  durableActor,
  leaving,
  volatileActor,
  type Activation,
  type ActorKindOf,
  type DurableActivation,
  type EndReason,
  type Kind,
  type Lifecycle,
} from './activation/kind.js';
export { answers, type JsonCodec, type JsonMethod, jsonService, streams } from './activation/json-service.js';
export type { Method, ServiceShape } from './activation/method.js';
export type { CallOptions, Handlers, Reference } from './activation/service.js';
export * from './config.js';
export type { DrainResult } from './drain/drain.js';
export * from './errors.js';
export { ageMs, type Instant, instantOf } from './membership/lease-clock.js';
export * from './fencing/fence.js';
export { type Committed, GroupCommit, type GroupCommitSettings } from './fencing/group-commit.js';
export * from './ids/ids.js';
export type { LinkSettings } from './links/links.js';
export { type Protocols, protocolVersion, spokenProtocols } from './links/protocol.js';
export type { Transport } from './links/pipe.js';
export { connectRedis, type RedisConnection } from './membership/redis/connection.js';
export { LocalMembership } from './membership/local/membership.js';
export * from './membership/membership.js';
export * from './membership/view.js';
export type { HistogramReading } from './measures/histogram.js';
export type { ActorLocation, NodeCounts, NodeDescription } from './node/describe.js';
export type { ClusterDescription, DescribedMember } from './node/describe-cluster.js';
export type { RingChange } from './node/ring-history.js';
export { measuresOf, type Measure } from './node/measures.js';
export { ClusterNode, type NodeParts } from './node/node.js';
export { referencesTo, type Caller } from './routing/reference.js';
export { targetOf, type Target } from './routing/target.js';
export { slotOf } from './ring/hash.js';
export { SlotSet } from './ring/slot-set.js';
export { ReplyStream, type StreamEnd } from './streams/reply-stream.js';
export * from './time/backoff.js';
export { type Deadlined, Deadlines } from './time/deadlines.js';
export { SystemLoopLag, type LoopLag, type LoopLagReading } from './time/loop-lag.js';
export * from './time/system.js';
export * from './time/time.js';
export { type Timers, within, withinSignal } from './time/within.js';
export { GrpcPeers } from './links/grpc/peers.js';
export { examineTls, type ExaminedTls } from './links/grpc/examine-tls.js';
export { isLoopback } from './links/grpc/loopback.js';
export { type GrpcTls, RenewableTls } from './links/grpc/renewable-tls.js';
export type { GrpcSettings } from './links/grpc/settings.js';
export type { LinkTrouble } from './links/link-troubles.js';
export { PostgresFenceStore, type PostgresTables } from './fencing/postgres/fence-store.js';
export type { Row, Statement } from './fencing/postgres/connections.js';
export type { WritingStatement } from './fencing/postgres/one-statement.js';
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
  type RecoveryQuestion,
  type RecoverySource,
  type SourceFailed,
  type UnfinishedWork,
} from './recovery/recovery.js';
export {
  DurableTimers,
  type DueTimer,
  type TimerQuestion,
  type TimerSource,
} from './recovery/durable-timers.js';
export {
  freshProcessId,
  openClusteredNode,
  type ClusteredNode,
  type ClusteredNodeOptions,
} from './node/clustered-node.js';
export { openLoneNode, type LoneNodeOptions } from './node/lone-node.js';
