import { unreadable } from '../embedding.js';
import { isRecord } from '../reply-json.js';
import type { EmbeddingForm } from '../vendor.js';
import { geminiUsage } from './usage.js';

/** `batchEmbedContents`: texts only, and numbers only. */
export const geminiEmbeddings: EmbeddingForm = {
  toRequest: ({ inputs, dimensions }, { name }) => ({
    path: `/v1beta/models/${encodeURIComponent(name)}:batchEmbedContents`,
    body: JSON.stringify({
      requests: inputs.map((input) => ({
        model: `models/${name}`,
        content: { parts: [{ text: input }] },
        ...(dimensions !== undefined && { outputDimensionality: dimensions }),
      })),
    }),
  }),
  fromReply: (body, out) => {
    if (!isRecord(body)) {
      out.push(unreadable('google', 'no JSON object'));
      return;
    }
    // Older models tell no usage; what they bill is then estimated.
    if (isRecord(body['usageMetadata']))
      out.push({ type: 'usage', usage: geminiUsage(body['usageMetadata']) });
    const rows: readonly unknown[] = Array.isArray(body['embeddings']) ? body['embeddings'] : [];
    for (const [index, row] of rows.entries()) {
      const values = isRecord(row) ? row['values'] : undefined;
      if (!Array.isArray(values) || !values.every((each) => typeof each === 'number')) continue;
      out.push({ type: 'embedding', index, vector: values });
    }
  },
};
