export * from './access.js';
export { type AnswerHeader, answerHeaders } from './answer-headers.js';
export type { AuditRule, AuditTrail, EntryOfOperation } from './audit-rule.js';
export { done, doneShape, list, listShape, one, oneShape } from './responses.js';
export { closedSchemaOf } from './closed-schema.js';
export { type Dialect, dialects, envelope, spelled, unexpected } from './dialect.js';
export { givenGuid, givenUuid } from './given-id.js';
export {
  type BegunRequest,
  type IdempotencyRule,
  type IdempotentRequests,
  type KeptAnswer,
  type NamedRequest,
  type Repeat,
} from './idempotency.js';
export { idempotencyHeader, validKey } from './idempotent.js';
export { replayed } from './kept-answer.js';
export { invoke, type Invocation } from './invoke.js';
export { parseJson, parseUnchecked, refuseForbidden, refuseOversized, refuseUnstorable } from './json.js';
export { refuseLongText } from './long-text.js';
export { JsonSize } from '../../kernel/json-size.js';
export { isJsonObject, type JsonObject, mergePatch } from './merge-patch.js';
export { asSent, named, nameOf, sentFormOf } from './named.js';
export {
  type Answer,
  type BodyRules,
  type Declaration,
  declare,
  type Method,
  type Operation,
  type OperationRequest,
  type RateClass,
  type RefusedRequest,
  type Shown,
} from './operation.js';
export {
  cursorOfCreated,
  type CutPage,
  cutPage,
  decodeCursor,
  encodeCursor,
  nextCursorOf,
  optionalLimit,
  optionalCursorOf,
  optionalPage,
  optionalPageShape,
  pageAsked,
  pageFound,
  pageOf,
  pageQuery,
  pageShape,
  type Position,
  positionOf,
  queryFlag,
  readCursor,
  rowsFor,
  textCursor,
} from './paging.js';
export { allows, lacksPermission, type Permission, permissions, permissionsOf } from './permissions.js';
export type { Admission, Admitted, Authenticator, Credentials, PublicKeyUse, WorkAhead } from './ports.js';
export { boundsOf, dayMs, type Moment, momentText, type Range, rangeOf, rangeQuery } from './range.js';
export type { RateFigures } from './rate-figures.js';
export {
  closedHere,
  eventStream,
  JsonReply,
  RawReply,
  SocketReply,
  type SocketWriter,
  StreamReply,
  type StreamWriter,
} from './reply.js';
export { type Match, OperationTable, Router } from './table.js';
export { refuseUnknownFields } from './unknown-fields.js';
export { validBody, validQuery } from './input.js';
export { validate } from './validate.js';
