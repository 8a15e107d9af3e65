/** Reads the content of images and files that callers give inline or by address, and tells what it is. */
import { invalidField, PlatformError } from '../../kernel/errors.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { TaskLimiter } from '../../kernel/task-limiter.js';
import { type Egress, EgressError } from '../../infra/egress/index.js';
import { FetchedBytes } from './fetched-bytes.js';
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
  signal?: AbortSignal,
) => Promise<readonly ReadPart[]>;

/** Ten attachments, or a long conversation. */
const partsMax = 50;
/** Ten attachments of the largest size. */
const allBytesMax = 10 * partBytesMax;
const fetchMsMax = 15_000;
const silenceMsMax = 10_000;
/** Of five megabytes each. */
const fetchesMax = { all: 24, each: 6 };
/** Two of the largest requests of a tenant; a small node can spare as much as for request bodies. */
const fetchedBytesMax = { all: 256 * 1024 * 1024, each: 2 * allBytesMax };

export function partReader(
  egress: Pick<Egress, 'checkUrl' | 'streamGuarded'>,
  fetchedBytes: FetchedBytes = new FetchedBytes(fetchedBytesMax),
): ReadParts {
  const room = new TaskLimiter(fetchesMax);
  return async (scope, parts, signal) => {
    const beyond = parts[partsMax];
    if (beyond !== undefined)
      throw invalidField(beyond.field, `is one too many: a request may have ${partsMax} images and files`);
    // What can be refused at once is refused before any address is asked.
    const inline = parts.map(({ part, field }) => {
      if (part.url != null) egress.checkUrl(part.url, `${field}.url`);
      return part.data == null ? undefined : decoded(part.data, `${field}.data`);
    });
    let leftBytes = allBytesMax;
    const count = (bytes: number): void => {
      leftBytes -= bytes;
      if (leftBytes < 0) throw allTooLarge();
    };
    for (const bytes of inline) count(bytes?.byteLength ?? 0);
    const ending = new AbortController();
    const ended = rejectionOf(ending.signal);
    const held = fetchedBytes.begin(scope.tenantId, (error) => ending.abort(error));
    const take = (bytes: number): void => {
      count(bytes);
      held.hold(bytes);
    };
    const leave = (): void => ending.abort(new PlatformError('client_closed'));
    if (signal?.aborted === true) leave();
    else signal?.addEventListener('abort', leave, { once: true });
    try {
      const all = Promise.all(
        parts.map(async ({ part, field }, at): Promise<ReadPart> => {
          const bytes = inline[at];
          const content =
            bytes === undefined
              ? await room.run(scope.tenantId, () =>
                  fetched(egress, part.url ?? '', `${field}.url`, {
                    signal: ending.signal,
                    take,
                    share: scope.tenantId,
                  }),
                )
              : { bytes, told: undefined };
          const mediaType = typeOf(part, content, field);
          return { type: part.type, name: part.name ?? undefined, bytes: content.bytes, mediaType, field };
        }),
      );
      // A fetch that waits for its place learns of the end only then.
      return await Promise.race([all, ended]);
    } finally {
      signal?.removeEventListener('abort', leave);
      // The first failure ends the other fetches, which would hold their bytes until the last server has answered.
      ending.abort();
      held.free();
    }
  };
}

/** Rejects with the reason of the signal when it aborts. */
function rejectionOf(signal: AbortSignal): Promise<never> {
  const rejection = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  // Nobody waits for it once the content is there.
  rejection.catch(() => undefined);
  return rejection;
}

function decoded(data: string, field: string): Buffer {
  if (bytesInBase64(data) > partBytesMax) throw partTooLarge(field);
  if (data.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) {
    throw invalidField(field, 'must be base64 (RFC 4648, with padding and without line breaks)');
  }
  return Buffer.from(data, 'base64');
}

function partTooLarge(field: string): PlatformError {
  const issue = `has more than ${partBytesMax} bytes`;
  return new PlatformError('payload_too_large', {
    message: `${field} ${issue}. Send less, or a smaller version.`,
    details: { field, issue, limit: partBytesMax },
  });
}

function allTooLarge(): PlatformError {
  const issue = `has images and files of more than ${allBytesMax} bytes together`;
  return new PlatformError('payload_too_large', {
    message: `The request ${issue}.`,
    details: { field: 'messages', issue },
  });
}

interface Found {
  readonly bytes: Buffer;
  /** The type that the server of the address tells. */
  readonly told: string | undefined;
}

interface Fetching {
  /** The tenant. */
  readonly share: string;
  readonly signal: AbortSignal;
  /** Counts bytes before they are kept. Throws if they are too many. */
  readonly take: (bytes: number) => void;
}

async function fetched(
  egress: Pick<Egress, 'streamGuarded'>,
  url: string,
  field: string,
  { signal, take, share }: Fetching,
): Promise<Found> {
  try {
    // It may have waited for its place until after the end.
    signal.throwIfAborted();
    const answer = await egress.streamGuarded({
      url,
      headers: { accept: '*/*' },
      timeoutMs: fetchMsMax,
      silenceMs: silenceMsMax,
      bodyBytesMax: partBytesMax,
      oversize: 'refuse',
      share,
      signal,
    });
    if (answer.status !== 200) {
      await answer.body.return();
      throw invalidField(field, `cannot be fetched: its server answers ${answer.status}`);
    }
    const bytes = await wholeOf(answer.body, take);
    if (bytes.byteLength === 0) throw invalidField(field, 'has no content');
    const told = plainMediaType(answer.headers['content-type'] ?? '');
    return { bytes, told: told === '' ? undefined : told };
  } catch (error) {
    if (!(error instanceof EgressError) || error.failure === 'cancelled') throw error;
    if (error.failure === 'too_large') throw partTooLarge(field);
    if (error.failure === 'forbidden_target')
      throw invalidField(field, 'points to a host that may not be reached from here');
    throw invalidField(field, `cannot be fetched: ${error.message}`);
  }
}

/** Collects the pieces in one place that grows: an object for each piece would cost a hundred times a tiny one. */
async function wholeOf(body: AsyncIterable<Uint8Array>, take: (bytes: number) => void): Promise<Buffer> {
  let whole: Buffer = Buffer.alloc(0);
  let length = 0;
  for await (const piece of body) {
    take(piece.length);
    if (length + piece.length > whole.length) {
      const size = Math.max(length + piece.length, Math.min(2 * whole.length, partBytesMax));
      const larger = Buffer.allocUnsafeSlow(size);
      larger.set(whole.subarray(0, length));
      whole = larger;
    }
    whole.set(piece, length);
    length += piece.length;
  }
  return length === whole.length ? whole : Buffer.from(whole.subarray(0, length));
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
