import { z } from 'zod';
import { readOutcome, type SenderCheck } from './parsed-mail.js';

/** The messages between the node and its reading process. The process has no network: it asks the node for DNS. */

export type ToReader =
  | { readonly kind: 'read'; readonly raw: Uint8Array; readonly check: SenderCheck | undefined }
  | { readonly kind: 'records'; readonly query: number; readonly records: unknown }
  | { readonly kind: 'no-records'; readonly query: number; readonly code: string };

export const fromReader = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ready') }),
  z.object({ kind: z.literal('query'), query: z.int(), name: z.string(), type: z.string() }),
  z.object({ kind: z.literal('done'), outcome: readOutcome }),
]);
export type FromReader = z.output<typeof fromReader>;
