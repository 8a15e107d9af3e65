import { z } from 'zod';
import { named } from '../../http/operations/index.js';

/** An image or a file of a message, without its content. */
export const attachmentShape = named(
  'Attachment',
  z.object({
    id: z.uuid(),
    type: z.enum(['image', 'file']),
    media_type: z.string(),
    name: z.string().nullable(),
    bytes: z.int().min(0),
  }),
);
export type AttachmentRef = Readonly<z.output<typeof attachmentShape>>;
