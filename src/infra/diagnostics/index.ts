export {
  isSecretName,
  looksLikeCredential,
  redactDeep,
  redacted,
  type RedactionBounds,
  redactText,
  redactValue,
} from './redaction.js';
export { hideIn, type SecretHider, secretHider } from './known-secrets.js';
export { type ReadinessCheck, sharedReadiness } from './health.js';
export { LogDestination } from './log-destination.js';
export { createLog, type LogTarget, type Log, type Logger } from './logger.js';
export { BoundedNames, others, TenantLabels } from './label-values.js';
export { Metrics } from './metrics.js';
export { CounterFamily, HistogramFamily } from './series.js';
export { activeTraceparent, Spans, type WorkSpan } from './spans.js';
export { RequestTracing, type RequestSpan, traceHeaders } from './tracing.js';
export { type ErrorRecord, ErrorRecords } from './error-records.js';
export { forgetErrorsOf } from './error-records.store.js';
export { RecentErrors } from './recent-errors.js';
