/** Images and files as callers give them: their form, without their content being looked at. */
import { z } from 'zod';
import { plainMediaType } from './media-types.js';
import { named } from '../../http/operations/index.js';

export const partBytesMax = 5 * 1024 * 1024;

/** The bytes that the text stands for, without decoding it. */
export function bytesInBase64(data: string): number {
  return Math.floor((data.length * 3) / 4) - (data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0);
}

const urlCharsMax = 8_192;
const nameCharsMax = 255;
/** A few bytes beyond the largest content, so that its refusal names the size. */
const dataCharsMax = 32 * 1024 * 1024;

const mediaType = z
  .string()
  .max(255)
  .transform(plainMediaType)
  .refine((type) => /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/.test(type), {
    error: 'must be a media type, such as image/png',
  });

const content = {
  url: z.string().min(1).max(urlCharsMax).nullish(),
  data: z.string().min(1).max(dataCharsMax).nullish().describe('The content in base64.'),
  media_type: mediaType.nullish(),
};

// Names end in prompts, headers and lists: no line breaks, no paths.
const name = z
  .string()
  .max(nameCharsMax)
  .transform((text) =>
    text
      .replace(/^.*[/\\]/s, '')
      .replace(/\p{Cc}/gu, ' ')
      .trim(),
  )
  .transform((text) => (text === '' ? undefined : text.toWellFormed()))
  .nullish();

const oneContent = {
  error: 'must have either url or data',
  path: ['data'],
};

function hasOneContent({ url, data }: { url?: unknown; data?: unknown }): boolean {
  return (url ?? undefined) === undefined
    ? (data ?? undefined) !== undefined
    : (data ?? undefined) === undefined;
}

export const imagePartShape = named(
  'ImagePart',
  z.object({ type: z.literal('image'), ...content, name }).refine(hasOneContent, oneContent),
);
export const filePartShape = named(
  'FilePart',
  z.object({ type: z.literal('file'), ...content, name }).refine(hasOneContent, oneContent),
);

/** An image or a file of a caller. */
export type GivenPart = z.output<typeof imagePartShape> | z.output<typeof filePartShape>;

export const attachmentsMax = 10;
export const attachmentsShape = z
  .array(z.discriminatedUnion('type', [imagePartShape, filePartShape]))
  .max(attachmentsMax, { error: `must have at most ${attachmentsMax} items` });
