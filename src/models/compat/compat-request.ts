import { z } from 'zod';
import { invalidField } from '../../kernel/errors.js';
import type { FilePart, ImagePart, LlmRequest } from '../../llm/index.js';

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

/** Decoding skips what is no base64, so it is checked before. */
export function isBase64(data: string): boolean {
  return data !== '' && data.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(data);
}

/** Vendors take 120,000 characters of names and values. */
const schemaBytesMax = 128 * 1024;

/** A JSON Schema of a caller. */
export const boundedSchema = z
  .record(z.string(), z.unknown())
  .refine(
    (given) => Buffer.byteLength(JSON.stringify(given)) <= schemaBytesMax,
    `must have at most ${schemaBytesMax} bytes as JSON`,
  );

/** An image of a caller, whose address or content can be one. */
export function checkedImage(url: string, field: string): ImagePart {
  if (!/^(?:https?|data):/i.test(url)) throw invalidField(field, 'must be an http, https or data address');
  const image = imageFromUrl(url);
  const isWrong =
    image.source.kind === 'base64' ? !isBase64(image.source.data) : /^data:/i.test(image.source.url);
  if (isWrong) throw invalidField(field, 'must be data:<type>;base64,<data> with valid base64');
  return image;
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

/** A file inline in a `data:` URL. */
export function fileFromData(url: string, name: string | undefined, field: string): FilePart {
  const [, mediaType, data] = dataUrl.exec(url) ?? [];
  if (mediaType === undefined || data === undefined)
    throw invalidField(
      `${field}.file.file_data`,
      'must be a data: URL in base64, such as data:application/pdf;base64,…',
    );
  if (!isBase64(data)) throw invalidField(`${field}.file.file_data`, 'must be valid base64');
  return documentPart(mediaType.toLowerCase(), data, name, field);
}

export function documentPart(
  mediaType: string,
  data: string,
  name: string | undefined,
  field: string,
): FilePart {
  const source = { kind: 'base64', mediaType, data } as const;
  return { type: 'file', source, field, ...(name === undefined ? {} : { name }) };
}
