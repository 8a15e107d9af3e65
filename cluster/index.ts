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
