import { PlatformError } from '../../kernel/errors.js';

/** Members whose strings are images and files in base64, in the requests of every dialect. */
const dataMembers: ReadonlySet<string> = new Set(['data', 'file_data']);
/** Members whose strings may be such data behind `data:`. */
const addressMembers: ReadonlySet<string> = new Set(['url', 'image_url']);

/** Refuses a body that is too large even without the images and files in it. */
export function refuseLongText(bytes: Uint8Array, body: unknown, textBytesMax: number): void {
  if (bytes.length <= textBytesMax || bytes.length - dataLengthIn(body) <= textBytesMax) return;
  throw new PlatformError('payload_too_large', {
    message: `The body has more than ${textBytesMax} bytes without images and files, the most that this operation takes.`,
  });
}

/** The depth of the body is bounded where it is parsed. */
function dataLengthIn(value: unknown, member = ''): number {
  if (typeof value === 'string') {
    const isData = dataMembers.has(member) || (addressMembers.has(member) && value.startsWith('data:'));
    return isData ? value.length : 0;
  }
  if (typeof value !== 'object' || value === null) return 0;
  let length = 0;
  for (const [name, inner] of Object.entries(value)) length += dataLengthIn(inner, name);
  return length;
}
