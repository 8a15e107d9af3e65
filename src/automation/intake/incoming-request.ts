import { activeTraceparent } from '../../infra/diagnostics/index.js';
import type { KeyCaller } from '../../kernel/caller.js';
import type { RateFigures } from '../../http/operations/index.js';
import type { AttachmentRef } from '../../conversations/attachments/index.js';
import type { GivenPart } from '../../models/parts/index.js';
import type { WebhookConfig } from '../triggers/config/webhook-config.js';
import { cutText } from '../triggers/mapped-context.js';
import type { InboxMessage } from '../messages/inbox-message.js';
import type { MessagePayload } from '../messages/message-payload.js';
import type { LiveTrigger } from '../triggers/live-triggers.js';
import type { WebhookRequest } from './authentication.js';
import type { ChannelMessage } from './channels.js';
import type { MessageKey } from './message-key.js';
import type { SenderVerdict } from '../messages/sender-access.js';
import type { Sources } from './sender-identity.js';

/** A request to a webhook's address, of which nothing is known yet. */
export interface Arrival {
  readonly triggerId: string;
  readonly request: WebhookRequest;
}

/** A request whose webhook exists. */
export interface Addressed extends Arrival {
  readonly trigger: LiveTrigger;
  readonly config: WebhookConfig;
}

/** A request whose sender is authentic. */
export interface Admitted extends Addressed {
  /** The API key of the request. */
  readonly sentWith: KeyCaller | undefined;
  readonly window: CountedWindow;
}

/** The rate figures for the response headers: the key's, or the tenant's once the request is counted there. */
export interface CountedWindow {
  figures: RateFigures | undefined;
  /** The tenant's window has counted the first message before the payload was read. */
  countedAhead?: boolean;
}

/** One message of a webhook request; undefined as channel message if the payload itself is the message. */
export interface ArrivedMessage extends Admitted {
  readonly payload: unknown;
  readonly message: ChannelMessage | undefined;
}

export interface KeyedMessage extends ArrivedMessage {
  readonly key: MessageKey | undefined;
  /** Empty if a repeat is not compared with the first message. */
  readonly hash: string;
}

/** A message whose sender and session are read. */
export interface Incoming extends KeyedMessage {
  readonly sources: Sources;
  readonly consumerKey: string | undefined;
  /** Undefined if every message starts a session. */
  readonly derivedSession: string | undefined;
  /** The derived session, or a new one. */
  readonly sessionId: string;
  readonly executionId: string;
}

/** A message that passed all checks. */
export interface CheckedMessage extends Incoming {
  readonly sender: SenderVerdict;
  /** Empty if the message has only attachments. */
  readonly query: string;
  /** Images and files as the payload gives them. */
  readonly given: readonly GivenPart[];
  /** What is stored of them; undefined until the message is about to be accepted. */
  readonly attachments?: readonly AttachmentRef[];
}

export function payloadFrom({
  trigger,
  sources,
  consumerKey,
  message,
  request,
  sentWith,
  query,
  attachments = [],
  sender: { userId },
}: CheckedMessage): MessagePayload {
  const work: MessagePayload = {
    message: query,
    context: { ...sources.context },
    requestId: request.requestId,
    agentId: trigger.agentId,
  };
  const traceparent = activeTraceparent();
  if (traceparent !== undefined) work.traceparent = traceparent;
  if (attachments.length > 0) work.attachments = [...attachments];
  if (consumerKey !== undefined) work.consumerKey = consumerKey;
  if (message?.displayName !== undefined) work.displayName = cutText(message.displayName, 255);
  if (message?.conversation !== undefined) work.shared = true;
  if (userId !== undefined) work.userId = userId;
  if (sentWith !== undefined) work.keyId = sentWith.keyId;
  if (message !== undefined) work.reply = { to: message.replyTo, from: message.ownAddress };
  return work;
}

export function inboxMessage(
  { trigger, sessionId, executionId }: Incoming,
  work: MessagePayload,
  row: InboxMessage['row'],
): InboxMessage {
  const { scope } = trigger;
  return { scope, triggerId: trigger.id, sessionId, executionId, work, row, attempts: 1, ageMs: 0 };
}

export function namesOf({ sources, trigger, sessionId, executionId }: Incoming): Record<string, unknown> {
  return {
    ...sources.context,
    trigger_id: trigger.id,
    session_id: sessionId,
    execution_id: executionId,
  };
}
