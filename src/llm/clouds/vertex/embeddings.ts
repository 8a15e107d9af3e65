import { unreadable } from '../../embedding.js';
import { isRecord } from '../../reply-json.js';
import { tokenCount, zeroUsage } from '../../usage.js';
import type { EmbeddingForm } from '../../vendor.js';

/** Vertex AI serves the models that make vectors by `predict`, not by the form of Google's own interface. */
export function vertexEmbeddings(vendor: string): EmbeddingForm {
  return {
    toRequest: ({ inputs, dimensions }, { name }) => ({
      path: `/publishers/google/models/${encodeURIComponent(name)}:predict`,
      body: JSON.stringify({
        instances: inputs.map((content) => ({ content })),
        // An input that is too long is refused: the vector of its beginning would look like its own.
        parameters: {
          autoTruncate: false,
          ...(dimensions !== undefined && { outputDimensionality: dimensions }),
        },
      }),
    }),
    fromReply: (body, out) => {
      if (!isRecord(body)) {
        out.push(unreadable(vendor, 'no JSON object'));
        return;
      }
      const rows: readonly unknown[] = Array.isArray(body['predictions']) ? body['predictions'] : [];
      const vectors = rows.map((row) =>
        isRecord(row) && isRecord(row['embeddings']) ? row['embeddings'] : {},
      );
      const counts = vectors.map(({ statistics }) =>
        tokenCount(isRecord(statistics) ? statistics['token_count'] : 0),
      );
      const inputUncached = counts.reduce((sum, count) => sum + count, 0);
      // Without counts, what it bills is estimated.
      if (inputUncached > 0) {
        out.push({ type: 'usage', usage: { ...zeroUsage, inputUncached, raw: body['metadata'] ?? null } });
      }
      for (const [index, { values }] of vectors.entries()) {
        if (!Array.isArray(values) || !values.every((each) => typeof each === 'number')) continue;
        out.push({ type: 'embedding', index, vector: values });
      }
    },
  };
}
