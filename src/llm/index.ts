/** The face of the subject: everything about a model call that the rest of the platform may know. */
export * from './contract.js';
export { AnswerBuilder, type LlmAnswer } from './answer.js';
export type { AttemptOutcome, AttemptReport, AttemptStart } from './attempt-report.js';
export { type Hear, runCall } from './call.js';
export {
  defaultCallLimits,
  type Call,
  type CallLimits,
  type CallOutcome,
  type CallPorts,
} from './call-ports.js';
export { builtInModels, builtInVendors, Catalogue, type Resolution } from './catalogue/catalogue.js';
export { modelTiers, type CatalogueModel, type ModelEntry, type TaskKind } from './catalogue/model.js';
export {
  CatalogueError,
  parseCompatibleVendors,
  parseModels,
  readCompatibleVendors,
  type CompatibleVendor,
} from './catalogue/models-file.js';
export { costOf, sumOfCosts } from './catalogue/price.js';
export { assumedOutput, estimateInputTokens, estimateTokens } from './estimate.js';
export { historyFor, pinOf } from './history.js';
export { Leaving, type LeaveSignal } from '../context/leave-signal.js';
export { platformFailure } from './platform-failure.js';
export { chooseModel, type Choice, type Routing } from './routing/choose-model.js';
export { CircuitBreakers } from './routing/circuit-breakers.js';
export { Observations } from './routing/observations.js';
export { planTargets, type CallPlan, type Credential, type Keyring, type Target } from './routing/plan.js';
export type { CallTime } from './transport/call-time.js';
export { VendorPools } from './transport/pools.js';
export { addUsage, inputTokens, outputTokens, totalTokens, zeroUsage, type Usage } from './usage.js';
export { VendorError, withoutSecret, type Clock, type FailureClass } from './vendor-error.js';
export type { VendorAdapter } from './vendor.js';
export { adaptersByVendor, defaultBaseUrls } from './vendors.js';
export { resolveAtDoor } from './door-model.js';
export { ChatFrames } from './chat-door/frames.js';
export { fromChatRequest, type ChatDoorRequest } from './chat-door/from-request.js';
export { toChatError } from './chat-door/to-error.js';
export { toChatModels, toChatReply } from './chat-door/to-reply.js';
export type { DoorRequest } from './door-request.js';
export { MessagesFrames } from './messages-door/frames.js';
export { fromMessagesRequest } from './messages-door/from-request.js';
export { toMessagesError } from './messages-door/to-error.js';
export { toMessagesReply } from './messages-door/to-reply.js';
export { VendorKeys, type TenantKey, type VendorSettings } from './vendor-keys.js';
