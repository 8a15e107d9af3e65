import type { EmbeddingVector, ReplyItem } from '../contract.js';
import { unreadable } from '../embedding.js';
import { integer, isRecord } from '../reply-json.js';
import type { EmbeddingForm } from '../vendor.js';
import type { ChatDialect } from './dialect.js';
import { mapChatErrorObject } from './map-error.js';

/** `/embeddings` as OpenAI and its imitators serve it. */
export function chatEmbeddings(dialect: ChatDialect): EmbeddingForm {
  const { vendor } = dialect;
  return {
    toRequest: ({ inputs, dimensions, encoding }, model) => ({
      path: '/embeddings',
      body: JSON.stringify({
        model: model.name,
        input: inputs,
        ...(dimensions !== undefined && { dimensions }),
        // The smallest imitators refuse it.
        ...(model.capabilities.has('base64_vectors') && { encoding_format: encoding }),
      }),
    }),
    fromReply: (body, out) => {
      if (!isRecord(body)) out.push(unreadable(vendor, 'no JSON object'));
      else if (body['error'] !== undefined && body['error'] !== null) {
        const error = mapChatErrorObject(vendor, body['error']);
        out.push({ type: 'failure', error });
      } else readVectors(body, dialect, out);
    },
  };
}

function readVectors(body: Readonly<Record<string, unknown>>, dialect: ChatDialect, out: ReplyItem[]): void {
  // Before the vectors: what the vendor bills is known even if they cannot be read.
  if (isRecord(body['usage'])) out.push({ type: 'usage', usage: dialect.toUsage(body['usage']) });
  const rows: readonly unknown[] = Array.isArray(body['data']) ? body['data'] : [];
  const vectors: { readonly index: number; readonly vector: EmbeddingVector }[] = [];
  for (const [at, row] of rows.entries()) {
    if (!isRecord(row)) continue;
    const vector = vectorIn(row['embedding']);
    if (vector !== undefined) vectors.push({ index: integer(row['index']) ?? at, vector });
  }
  for (const each of vectors.toSorted((one, other) => one.index - other.index)) {
    out.push({ type: 'embedding', ...each });
  }
}

function vectorIn(value: unknown): EmbeddingVector | undefined {
  if (typeof value === 'string') return value;
  return Array.isArray(value) && value.every((each) => typeof each === 'number') ? value : undefined;
}
