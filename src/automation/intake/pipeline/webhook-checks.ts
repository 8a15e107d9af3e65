import { type MessageCheckParts, type MessageChecks, messageChecks } from './message-checks.js';
import { type RequestCheckParts, type RequestChecks, requestChecks } from './request-checks.js';

/** Everything that decides whether a message to a webhook runs: first the request's checks, then each message's. */
export interface WebhookChecks {
  readonly request: RequestChecks;
  readonly message: MessageChecks;
}

export type WebhookCheckName = RequestChecks['names'][number] | MessageChecks['names'][number];

export type WebhookCheckParts = RequestCheckParts & MessageCheckParts;

export function webhookChecks(parts: WebhookCheckParts): WebhookChecks {
  return { request: requestChecks(parts), message: messageChecks(parts) };
}
