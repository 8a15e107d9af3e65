import { documentType } from '../../llm/index.js';

const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;
export const imageTypesList = imageTypes.join(', ');

export function isImageType(mediaType: string): boolean {
  return imageTypes.some((one) => one === mediaType);
}

/** The type in the spelling of the list; undefined for others. Some clients write `image/jpg`. */
export function imageTypeOf(given: string): string | undefined {
  const type = plainMediaType(given);
  const spelled = type === 'image/jpg' ? 'image/jpeg' : type;
  return isImageType(spelled) ? spelled : undefined;
}

/** The type that the first bytes tell; undefined for types without a mark, such as text. */
export function sniffedType(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 1_024)).toString(
    'latin1',
  );
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'image/gif';
  if (head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP') return 'image/webp';
  // The mark may follow other bytes within the first kilobyte.
  return head.includes('%PDF-') ? documentType : undefined;
}

const textTypes =
  /^(?:text\/[\w.+-]+|application\/(?:json|xml|yaml|x-yaml|csv|javascript|sql|toml|x-ndjson|(?:[\w.-]+\+)(?:json|xml)))$/;

/** Types whose content models read as text. */
export function isTextType(mediaType: string): boolean {
  return textTypes.test(mediaType);
}

/** Undefined if the bytes are not UTF-8, or contain NUL, which the database cannot store in a text. */
export function utf8Of(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // Not UTF-8: a binary file.
    return undefined;
  }
}

/** `Text/HTML; charset=utf-8` → `text/html`. */
export function plainMediaType(text: string): string {
  return (text.split(';', 1)[0] ?? '').trim().toLowerCase();
}
