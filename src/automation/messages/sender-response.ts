import { z } from 'zod';

/** The response to the sender of a message; a repeat of the message gets the same. */
export const senderResponse = z.object({ status: z.number(), contentType: z.string(), body: z.string() });

export type SenderResponse = z.output<typeof senderResponse>;
