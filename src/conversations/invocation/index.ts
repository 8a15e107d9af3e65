// What all channels into a conversation share: what a sender may declare, the author, the session, and the events
// that are sent. Pure functions without state or storage.
export { readAttachments } from './attachments.js';
export {
  type Author,
  authorFrom,
  authorKinds,
  consumersOf,
  continuesOwnSessionsOnly,
  isStarter,
  starterAfter,
} from './author.js';
export { type Capabilities } from './capabilities.js';
export {
  consumerKeyCharactersMax,
  displayNameAfter,
  displayNameCharactersMax,
  identityAfter,
  type NameSource,
} from './consumer-identity.js';
export { contextBlock, contextLimits, redactFlat, toolContext, userParts } from './declared-context.js';
export { derivedSessionId, phoneFields, type SessionField } from './derived-session.js';
export { encodeEvent, keepAliveComment, keepAliveMs, type ServerSentEvent } from './event-stream.js';
export * from './events.js';
export { comparableIdentity, normalIdentity, normalPhone } from './identities.js';
export type { FlatObject, Scalar } from './flat-object.js';
export { type IgnoredField, IgnoredFields, type IgnoredReason } from './ignored-fields.js';
export {
  chatToolFields,
  type Invocation,
  type InvocationPrivileges,
  privilegesOf,
  readInvocation,
  streamFields,
} from './invocation.js';
export { type QuickRepliesBlock, type StoredAnswer, storedAnswer } from './quick-replies.js';
export { readMetadata } from './metadata.js';
export { hiddenFromModel, isReservedName, reservedNames } from './names.js';
export { webChannel } from './web-channel.js';
export { usableTimeoutMs } from './turn-options.js';
export { ignoredFieldShape, turnEventShape, turnStreamExample } from './event-shapes.js';
export { turnRequestExample, turnRequestShape } from './request-shape.js';
