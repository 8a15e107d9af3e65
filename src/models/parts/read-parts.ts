/** Reads the content of images and files that callers give inline or by address, and tells what it is. */
import { type ErrorCode, invalidField, PlatformError } from '../../kernel/errors.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { TaskLimiter } from '../../kernel/task-limiter.js';
import { type Egress, EgressError } from '../../infra/egress/index.js';
import { bytesInBase64, type GivenPart, partBytesMax } from './given-parts.js';
import {
  imageTypesList,
  isImageType,
  isTextType,
  plainMediaType,
  sniffedType,
  utf8Of,
} from './media-types.js';

/** An image or a file with its content. */
export interface ReadPart {
  readonly type: 'image' | 'file';
  readonly mediaType: string;
  readonly name: string | undefined;
  readonly bytes: Buffer;
  /** The place of the part in the caller's request. */
  readonly field: string;
}

/** A part of a request, and where it stands there, such as `attachments.0`. */
export interface PlacedPart {
  readonly part: GivenPart;
  readonly field: string;
}

export type ReadParts = (
  scope: TenantScope,
  parts: readonly PlacedPart[],
  options: {
    /** The refusal of a part that is too large. */
    readonly tooLarge: Extract<ErrorCode, 'payload_too_large' | 'validation_error'>;
    readonly signal?: AbortSignal;
  },
) => Promise<readonly ReadPart[]>;

/** Ten attachments, or a long conversation. */
const partsMax = 50;
/** Ten attachments of the largest size. */
const allBytesMax = 10 * partBytesMax;
const fetchMsMax = 15_000;
const silenceMsMax = 10_000;
/** Of five megabytes each. */
const fetchesMax = { all: 24, each: 6 };

export function partReader(egress: Pick<Egress, 'checkUrl' | 'fetchGuarded'>): ReadParts {
  const room = new TaskLimiter(fetchesMax);
  return async (scope, parts, { tooLarge, signal }) => {
    const beyond = parts[partsMax];
    if (beyond !== undefined)
      throw invalidField(beyond.field, `is one too many: a request may have ${partsMax} images and files`);
    // What can be refused at once is refused before any address is asked.
    const inline = parts.map(({ part, field }) => {
      if (part.url != null) egress.checkUrl(part.url, `${field}.url`);
      return part.data == null ? undefined : decoded(part.data, `${field}.data`, tooLarge);
    });
    const found = await Promise.all(
      parts.map(async ({ part, field }, at): Promise<ReadPart> => {
        const bytes = inline[at];
        const content =
          bytes === undefined
            ? await room.run(scope.tenantId, () =>
                fetched(egress, part.url ?? '', `${field}.url`, tooLarge, signal),
              )
            : { bytes, told: undefined };
        const mediaType = typeOf(part, content, field);
        return { type: part.type, name: part.name ?? undefined, bytes: content.bytes, mediaType, field };
      }),
    );
    const bytes = found.reduce((sum, part) => sum + part.bytes.byteLength, 0);
    if (bytes > allBytesMax) {
      const issue = `has images and files of more than ${allBytesMax} bytes together`;
      throw new PlatformError(tooLarge, {
        message: `The request ${issue}.`,
        details: { field: 'messages', issue },
      });
    }
    return found;
  };
}

type TooLarge = Parameters<ReadParts>[2]['tooLarge'];

function decoded(data: string, field: string, tooLarge: TooLarge): Buffer {
  if (bytesInBase64(data) > partBytesMax) throw partTooLarge(field, tooLarge);
  if (data.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) {
    throw invalidField(field, 'must be base64 (RFC 4648, with padding and without line breaks)');
  }
  return Buffer.from(data, 'base64');
}

function partTooLarge(field: string, code: TooLarge): PlatformError {
  const issue = `has more than ${partBytesMax} bytes`;
  return new PlatformError(code, {
    message: `${field} ${issue}. Send less, or a smaller version.`,
    details: { field, issue, limit: partBytesMax },
  });
}

interface Found {
  readonly bytes: Buffer;
  /** The type that the server of the address tells. */
  readonly told: string | undefined;
}

async function fetched(
  egress: Pick<Egress, 'fetchGuarded'>,
  url: string,
  field: string,
  tooLarge: TooLarge,
  signal: AbortSignal | undefined,
): Promise<Found> {
  try {
    const answer = await egress.fetchGuarded({
      url,
      headers: { accept: '*/*' },
      timeoutMs: fetchMsMax,
      silenceMs: silenceMsMax,
      bodyBytesMax: partBytesMax,
      oversize: 'refuse',
      ...(signal === undefined ? {} : { signal }),
    });
    if (answer.status !== 200)
      throw invalidField(field, `cannot be fetched: its server answers ${answer.status}`);
    if (answer.body.byteLength === 0) throw invalidField(field, 'has no content');
    const told = plainMediaType(answer.headers['content-type'] ?? '');
    return { bytes: answer.body, told: told === '' ? undefined : told };
  } catch (error) {
    if (!(error instanceof EgressError) || error.failure === 'cancelled') throw error;
    if (error.failure === 'too_large') throw partTooLarge(field, tooLarge);
    if (error.failure === 'forbidden_target')
      throw invalidField(field, 'points to a host that may not be reached from here');
    throw invalidField(field, `cannot be fetched: ${error.message}`);
  }
}

/** What the bytes show counts more than what is said of them. */
function typeOf(part: GivenPart, { bytes, told }: Found, field: string): string {
  const declared = part.media_type ?? undefined;
  const sniffed = sniffedType(bytes);
  if (part.type === 'image') {
    if (declared !== undefined && !isImageType(declared))
      throw invalidField(`${field}.media_type`, `must be one of ${imageTypesList}`);
    const isImage = sniffed === undefined ? part.url == null && declared !== undefined : isImageType(sniffed);
    if (!isImage) throw invalidField(contentField(part, field), `must be an image: ${imageTypesList}`);
    return sniffed ?? declared ?? '';
  }
  if (sniffed !== undefined) {
    const contradicts = declared !== undefined && !isTextType(declared) && declared !== sniffed;
    if (contradicts && declared !== anyType)
      throw invalidField(`${field}.media_type`, `is ${declared}, but the content is ${sniffed}`);
    return declared !== undefined && isTextType(declared) ? declared : sniffed;
  }
  const said = declared ?? told ?? anyType;
  if (utf8Of(bytes) === undefined) {
    if (isTextType(said) && declared !== undefined)
      throw invalidField(contentField(part, field), `is not text in UTF-8, as ${declared} must be`);
    return isTextType(said) ? anyType : said;
  }
  return said === anyType ? 'text/plain' : said;
}

const anyType = 'application/octet-stream';

function contentField({ url }: GivenPart, field: string): string {
  return url == null ? `${field}.data` : `${field}.url`;
}
