import { z } from 'zod';
import { invalidField } from '../../kernel/errors.js';
import type { FilePart, ImagePart, LlmRequest } from '../../llm/index.js';
import { bytesInBase64, imageTypeOf, imageTypesList, partBytesMax } from '../parts/index.js';

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
function isBase64(data: string): boolean {
  return data !== '' && data.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(data);
}

/** Refuses what is no base64, and what is larger than a part may be in any call. */
export function requireContent(data: string, field: string, form = 'must be valid base64'): void {
  if (!isBase64(data)) throw invalidField(field, form);
  if (bytesInBase64(data) > partBytesMax) {
    throw invalidField(field, `has more than ${partBytesMax} bytes. Send less, or a smaller version`);
  }
}

/** The media type of an image, in the spelling that vendors know. */
export function requireImageType(given: string, field: string): string {
  const type = imageTypeOf(given);
  if (type === undefined) throw invalidField(field, `must be one of ${imageTypesList}`);
  return type;
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
  const { source } = imageFromUrl(url);
  const form = 'must be data:<type>;base64,<data> with valid base64';
  if (source.kind === 'url') {
    if (/^data:/i.test(source.url)) throw invalidField(field, form);
    return { type: 'image', source };
  }
  const mediaType = imageTypeOf(source.mediaType);
  if (mediaType === undefined) throw invalidField(field, `must hold an image: ${imageTypesList}`);
  requireContent(source.data, field, form);
  return { type: 'image', source: { ...source, mediaType } };
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
  requireContent(data, `${field}.file.file_data`);
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
