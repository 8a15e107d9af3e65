import type { z } from 'zod';
import { invalidField } from '../../kernel/errors.js';
import type { ImagePart, LlmRequest } from '../../llm/index.js';

export interface CompatRequest {
  readonly model: string;
  readonly request: LlmRequest;
}

/** Refuses with the platform's error format and the path of the field. */
export function parseCompatBody<Output>(schema: z.ZodType<Output>, body: unknown): Output {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue === undefined || issue.path.length === 0 ? 'body' : issue.path.join('.');
  throw invalidField(field, issue?.message ?? 'not valid');
}

const dataUrl = /^data:([a-z]+\/[a-z0-9.+-]+);base64,(.*)$/is;

/** An image given as a URL or inline in a `data:` URL. */
export function imageFromUrl(url: string): ImagePart {
  const match = dataUrl.exec(url);
  const [, mediaType, data] = match ?? [];
  return mediaType !== undefined && data !== undefined
    ? { type: 'image', source: { kind: 'base64', mediaType, data } }
    : { type: 'image', source: { kind: 'url', url } };
}
