import { z } from 'zod';

/** What the sender of a message was answered; a repeat of the message gets the same. */
export const senderResponse = z.object({ status: z.number(), contentType: z.string(), body: z.string() });

export type SenderResponse = z.output<typeof senderResponse>;
