import type { KeyCaller } from '../../kernel/caller.js';
import type { RateFigures } from '../../http/operations/index.js';
import type { WebhookConfig } from '../triggers/config/webhook-config.js';
import type { InboxMessage } from '../messages/inbox-message.js';
import type { MessagePayload } from '../messages/message-payload.js';
import type { LiveTrigger } from '../triggers/live-triggers.js';
import type { WebhookRequest } from './authentication.js';
import type { ChannelMessage } from './channels.js';
import type { MessageKey } from './message-key.js';
import type { ReadMessage } from './read-message.js';

/** A webhook request whose sender is authenticated and whose agent is published. */
export interface Admitted {
  readonly trigger: LiveTrigger;
  readonly config: WebhookConfig;
  readonly request: WebhookRequest;
  /** The API key of the request. */
  readonly sentWith: KeyCaller | undefined;
  readonly window: CountedWindow;
}

/** The rate figures for the response headers: the key's, or the tenant's once the request is counted there. */
export interface CountedWindow {
  figures: RateFigures | undefined;
}

/** One message of an admitted webhook. */
export interface Incoming extends Admitted {
  readonly message: ChannelMessage | undefined;
  readonly read: ReadMessage;
  readonly key: MessageKey | undefined;
  readonly hash: string;
  readonly executionId: string;
  readonly sessionId: string;
}

export function payloadFrom(
  { trigger, read, message, request, sentWith }: Incoming,
  query: string,
  userId: string | undefined,
): MessagePayload {
  const { consumerKey } = read;
  const work: MessagePayload = {
    message: query,
    context: { ...read.sources.context },
    requestId: request.requestId,
    agentId: trigger.agentId,
  };
  if (consumerKey !== undefined) work.consumerKey = consumerKey;
  if (message?.displayName !== undefined) work.displayName = message.displayName.slice(0, 255);
  if (userId !== undefined) work.userId = userId;
  if (sentWith !== undefined) work.keyId = sentWith.keyId;
  if (message !== undefined) work.reply = { to: message.replyTo, from: message.ownAddress };
  return work;
}

export function inboxMessage(
  { trigger, sessionId, executionId }: Incoming,
  work: MessagePayload,
  row: { readonly trigger_id: string; readonly key: string; readonly seq: number } | undefined,
): InboxMessage {
  const { scope } = trigger;
  return { scope, triggerId: trigger.id, sessionId, executionId, work, row, attempts: 1, ageMs: 0 };
}

export function namesOf({ read, trigger, sessionId, executionId }: Incoming): Record<string, unknown> {
  return {
    ...read.sources.context,
    trigger_id: trigger.id,
    session_id: sessionId,
    execution_id: executionId,
  };
}
