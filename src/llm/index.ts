/** The public interface of the vendor library for model calls. */
export * from './contract.js';
export { AnswerBuilder, type LlmAnswer, type WholeReply } from './answer.js';
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
export {
  type ModelKind,
  modelKinds,
  modelTiers,
  type CatalogueModel,
  type ModelEntry,
  type TaskKind,
} from './catalogue/model.js';
export {
  CatalogueError,
  parseCompatibleVendors,
  parseModels,
  parseModelsFile,
  readCompatibleVendors,
  type CompatibleVendor,
  type ModelsFile,
} from './catalogue/models-file.js';
export type { CloudVendor, SecretReference } from './clouds/cloud-vendor.js';
export { parseVendorsFile, type Reference } from './catalogue/vendors-file.js';
export { costOf, sumOfCosts } from './catalogue/price.js';
export { countInputTokens, estimateInputTokens, estimateTokens, reservedOutput } from './estimate.js';
export { numbersInReplyMax, vectorToBase64, vectorToNumbers } from './embedding.js';
export { listVendorModels } from './list-models.js';
export { honouredBy, type Honoured, type RefusedField } from './wire/treatment.js';
export { type LostWish, withoutEffect } from './wire/without-effect.js';
export { historyFor, pinOf } from './history.js';
export { LeaveController, type LeaveSignal } from '../kernel/leave-signal.js';
export { chooseModel, type Choice, type Routing } from './routing/choose-model.js';
export { type BreakerState, CircuitBreakers } from './routing/circuit-breakers.js';
export { KeyLoads } from './routing/key-loads.js';
export { Observations } from './routing/observations.js';
export { planTargets, type CallPlan, type Credential, type Keyring, type Target } from './routing/plan.js';
export type { CallTime } from './transport/call-time.js';
export { VendorPools } from './transport/pools.js';
export { addUsage, inputTokens, outputTokens, totalTokens, zeroUsage, type Usage } from './usage.js';
export {
  isFinal,
  refusesKey,
  VendorError,
  withoutSecret,
  type Clock,
  type FailureClass,
} from './vendor-error.js';
export type { VendorAdapter } from './vendor.js';
export { adaptersByVendor, defaultBaseUrls } from './vendors.js';
export { argumentsObject, isRecord } from './reply-json.js';
export { unpackSignature, packSignature } from './packed-signature.js';
export { type PlatformKey, VendorKeys, type TenantKey, type VendorSettings } from './vendor-keys.js';
