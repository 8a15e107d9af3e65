import { anthropicBody, headersOf } from '../../anthropic/to-request.js';
import { anthropicAdapter } from '../../anthropic/adapter.js';
import type { LlmRequest } from '../../contract.js';
import { googleAdapter } from '../../google/adapter.js';
import { mapGeminiError } from '../../google/map-error.js';
import { isRecord, parseJson, text } from '../../reply-json.js';
import type { ErrorReply, VendorAdapter, VendorModel, VendorRequest } from '../../vendor.js';
import { vertexEmbeddings } from './embeddings.js';

export const publishers = ['google', 'anthropic'] as const;
export type Publisher = (typeof publishers)[number];

/** Gemini on Vertex AI: Google's own form at another path. */
function geminiOnVertex(vendor: string): VendorAdapter {
  return {
    ...googleAdapter,
    vendor,
    modelsPath: '/publishers/google/models',
    toRequest: (request, model) => {
      const { path, body } = googleAdapter.toRequest(request, model);
      return { path: path.replace(/^\/v1beta\/models\//, '/publishers/google/models/'), body };
    },
    authorization: () => ({}),
    embeddings: vertexEmbeddings(vendor),
  };
}

/** Claude on Vertex AI: Anthropic's own form, with the model in the path and the version in the body. */
function claudeOnVertex(vendor: string): VendorAdapter {
  return {
    ...anthropicAdapter,
    vendor,
    // Bills whole answers, like Google's own models there.
    billsCutStreams: true,
    modelsPath: '/publishers/anthropic/models',
    toRequest: claudeRequest,
    authorization: () => ({}),
    mapError: (reply) => (isGoogleError(reply) ? mapGeminiError(reply) : anthropicAdapter.mapError(reply)),
  };
}

function claudeRequest(request: LlmRequest, model: VendorModel): VendorRequest {
  const fields = Object.entries(anthropicBody(request, model)).filter(([field]) => field !== 'model');
  const method = request.stream ? 'streamRawPredict' : 'rawPredict';
  return {
    path: `/publishers/anthropic/models/${encodeURIComponent(model.name)}:${method}`,
    body: JSON.stringify({ anthropic_version: 'vertex-2023-10-16', ...Object.fromEntries(fields) }),
    ...headersOf(request),
  };
}

/** Refusals by the cloud itself have Google's form, those by the model have Anthropic's. */
function isGoogleError({ body }: ErrorReply): boolean {
  const given = parseJson(body);
  const whole: unknown = Array.isArray(given) ? given[0] : given;
  return isRecord(whole) && isRecord(whole['error']) && text(whole['error']['status']) !== undefined;
}

export function vertexAdapter(vendor: string, publisher: Publisher): VendorAdapter {
  return publisher === 'google' ? geminiOnVertex(vendor) : claudeOnVertex(vendor);
}
