import type { BoundAttachment, MessageRow } from './rows.js';

/** The attachments that are part of the conversation once these messages are. */
export function boundBy(messages: readonly MessageRow[]): readonly BoundAttachment[] {
  return messages.flatMap(({ tenant_id, id: message_id, attachments }) =>
    attachments.map(({ id }) => ({ tenant_id, id, message_id })),
  );
}
