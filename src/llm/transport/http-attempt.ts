import type { Dispatcher } from 'undici';
import type { LlmRequest, ReplyItem } from '../contract.js';
import { header } from '../failure-class.js';
import { signedHeaders, uncompressed, withKey } from '../header-values.js';
import { parseReply } from '../reply-json.js';
import { unsignable } from '../unsignable.js';
import { TooLargeError, VendorError } from '../vendor-error.js';
import type {
  Headers,
  RequestSigner,
  StreamReader,
  UnsignedRequest,
  VendorAdapter,
  VendorModel,
} from '../vendor.js';
import type { ClockLimits } from './attempt-clocks.js';
import { AttemptFeed, type Attempt } from './attempt-feed.js';
import type { CallTime } from './call-time.js';
import { readEnd } from './end-of-stream.js';
import { usageInLarge } from './large-reply.js';
import { transportLimits } from './limits.js';
import type { ReplyListener, VendorPools } from './pools.js';
import { EventStreamParser, eventStreamType } from './event-stream-parser.js';
import type { EventParser } from './event-parser.js';
import { SseParser } from './sse-parser.js';

/** How long a connection may stay open after the vendor said that it has sent everything. */
const lingerMs = 1000;

export interface HttpAttemptOptions {
  readonly adapter: VendorAdapter;
  readonly request: LlmRequest;
  readonly model: VendorModel;
  /** In the format of the vendor's own SDK; its path precedes the adapter's. */
  readonly baseUrl: string;
  readonly credentialId: string;
  readonly secret: string | undefined;
  readonly signer?: RequestSigner | undefined;
  readonly pools: VendorPools;
  readonly time: CallTime;
  readonly clocks: ClockLimits;
}

/** Sends the request. It never throws: each failure is an item of the attempt. */
export function openHttpAttempt(options: HttpAttemptOptions): Attempt {
  const feed = new AttemptFeed({
    vendor: options.adapter.vendor,
    time: options.time,
    clocks: options.clocks,
  });
  sending(feed, options, () => send(feed, options));
  return feed;
}

function sending(feed: AttemptFeed, options: HttpAttemptOptions, work: () => void): void {
  try {
    work();
  } catch (cause) {
    feed.fail(notSent(options, cause));
  }
}

/** The vendor cannot be given the request, or the base address is invalid. */
function notSent({ adapter }: HttpAttemptOptions, cause: unknown): VendorError {
  if (cause instanceof VendorError) return cause;
  const { vendor } = adapter;
  return new VendorError('unavailable', 'the request could not be sent', { vendor, cause });
}

function send(feed: AttemptFeed, options: HttpAttemptOptions): void {
  const { adapter, request, secret } = options;
  const base = baseOf(options.baseUrl);
  const { path, body, headers } = adapter.toRequest(request, options.model);
  const handler = new ReplyHandler(feed, options);
  const unsigned: UnsignedRequest = {
    method: 'POST',
    origin: base.origin,
    path: base.path + path,
    headers: withKey(
      adapter,
      {
        'content-type': 'application/json',
        accept: request.stream ? 'text/event-stream' : 'application/json',
        ...headers,
      },
      secret,
    ),
    body,
    nowMs: options.time.wallMs(),
  };
  if (options.signer === undefined) return dispatch(feed, options, unsigned, handler);
  void signed(options.signer, unsigned).then(
    (request) => sending(feed, options, () => dispatch(feed, options, request, handler)),
    (cause: unknown) => feed.fail(unsignable(adapter.vendor, cause)),
  );
}

async function signed(signer: RequestSigner, request: UnsignedRequest): Promise<UnsignedRequest> {
  return { ...request, headers: await signedHeaders(signer, request) };
}

function dispatch(
  feed: AttemptFeed,
  options: HttpAttemptOptions,
  { method, origin, path, headers, body }: UnsignedRequest,
  handler: ReplyHandler,
): void {
  // The caller may have left while the request was signed.
  if (feed.ended) return;
  const { adapter } = options;
  const request = { path, method, headers: { ...headers, ...uncompressed }, body };
  const sent = options.pools.dispatch(origin, options.credentialId, request, handler);
  if (!sent) {
    const error = new VendorError('unavailable', 'too many calls to this vendor are under way', {
      vendor: adapter.vendor,
      retryAfterMs: 1000,
    });
    feed.fail(error);
  }
}

interface Base {
  readonly origin: string;
  readonly path: string;
}

/** Addresses are few and live long; reading one costs as much as the rest of a small request. */
const bases = new Map<string, Base>();
const basesMax = 1000;

function baseOf(baseUrl: string): Base {
  const known = bases.get(baseUrl);
  if (known !== undefined) return known;
  const url = new URL(baseUrl);
  const base = { origin: url.origin, path: url.pathname.replace(/\/+$/, '') };
  if (bases.size >= basesMax) bases.clear();
  bases.set(baseUrl, base);
  return base;
}

/** By name: some servers write the character set, or nothing of use, in this place. */
const compressed = /\b(?:gzip|deflate|br|zstd|compress)\b/i;

/** The request itself or its pool is at fault; no vendor was asked. */
const ownFaults: ReadonlySet<string> = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_DESTROYED',
  'UND_ERR_CLOSED',
]);

type Mode =
  | { readonly kind: 'stream'; readonly parser: EventParser; readonly reader: StreamReader; bytes: number }
  | { readonly kind: 'whole' | 'error'; readonly chunks: Buffer[]; bytes: number };

/** Reads the reply by its status and content type, not by what the request asked for. */
class ReplyHandler implements ReplyListener {
  readonly #feed: AttemptFeed;
  readonly #options: HttpAttemptOptions;
  #mode: Mode | undefined;
  #status = 0;
  #headers: Headers = {};
  #closed = false;
  #lingering: { cancel(): void } | undefined;

  constructor(feed: AttemptFeed, options: HttpAttemptOptions) {
    this.#feed = feed;
    this.#options = options;
    feed.source = {
      pause: () => undefined,
      resume: () => undefined,
      // There is no connection to close yet; `onRequestStart` checks again.
      close: () => {
        this.#closed = true;
      },
    };
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const close = (): void => {
      this.#closed = true;
      controller.abort(new Error('the attempt has ended'));
    };
    if (this.#closed || this.#feed.ended) {
      close();
      return;
    }
    this.#feed.facts.sent = true;
    this.#feed.source = {
      pause: () => controller.pause(),
      resume: () => controller.resume(),
      close,
    };
  }

  onResponseStart(status: number, headers: Headers): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    const facts = this.#feed.facts;
    facts.accepted = status < 300;
    facts.vendorRequestId = requestIdOf(headers);
    const encoding = header(headers, 'content-encoding') ?? '';
    if (facts.accepted && compressed.test(encoding)) this.#refuseEncoded(encoding);
    else this.#mode = this.#modeOf(status, header(headers, 'content-type') ?? '');
  }

  onResponseData(chunk: Buffer): void {
    const mode = this.#mode;
    if (mode === undefined || this.#feed.ended) return;
    mode.bytes += chunk.length;
    if (mode.kind === 'stream') this.#readStream(mode, chunk);
    else this.#collect(mode, chunk);
  }

  onResponseEnd(): void {
    this.#lingering?.cancel();
    if (this.#feed.ended) return;
    const mode = this.#mode;
    if (mode === undefined) {
      this.#fail('transport', 'the vendor closed the connection without an answer', 'unreachable');
    } else if (mode.kind === 'stream') {
      this.#feed.accept(0, (out) => readEnd(mode.parser, mode.reader, out), true);
    } else if (mode.kind === 'whole') {
      this.#feed.facts.whole = true;
      this.#feed.accept(mode.bytes, (out) => this.#readWhole(together(mode.chunks), out), true);
    } else {
      const { adapter, time } = this.#options;
      const error = adapter.mapError({
        status: this.#status,
        headers: this.#headers,
        body: Buffer.concat(mode.chunks).toString('utf8'),
        nowMs: time.wallMs(),
      });
      this.#feed.fail(error);
    }
  }

  onResponseError(cause: Error): void {
    this.#lingering?.cancel();
    if (this.#feed.ended) return;
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
    // undici reports these to the handler, as it does a connection that fails.
    if (!this.#feed.facts.sent && code !== undefined && ownFaults.has(code)) {
      this.#feed.fail(notSent(this.#options, cause));
      return;
    }
    const problem =
      this.#mode === undefined ? 'the vendor could not be reached' : 'the connection broke during the answer';
    const what = code === undefined ? problem : `${problem} (${code})`;
    this.#feed.fail(new VendorError('transport', what, { vendor: this.#options.adapter.vendor, cause }));
  }

  /** The next answer of this server would be the same, and billed. */
  #refuseEncoded(encoding: string): void {
    const { vendor } = this.#options.adapter;
    const what = `the vendor sent an answer compressed as ${encoding}, although it was asked for a plain one`;
    this.#feed.fail(new VendorError('nonsense', what, { vendor, neverRetry: true }));
    this.#feed.source?.close();
  }

  #modeOf(status: number, contentType: string): Mode {
    if (status >= 300) return { kind: 'error', chunks: [], bytes: 0 };
    const isJson = /\bjson\b/i.test(contentType);
    const isBinary = contentType.startsWith(eventStreamType);
    const isStream =
      isBinary || /\bevent-stream\b/i.test(contentType) || (this.#options.request.stream && !isJson);
    if (!isStream) return { kind: 'whole', chunks: [], bytes: 0 };
    const { eventBytesMax } = transportLimits;
    return {
      kind: 'stream',
      parser: isBinary ? new EventStreamParser(eventBytesMax) : new SseParser(eventBytesMax),
      reader: this.#options.adapter.reader(),
      bytes: 0,
    };
  }

  #readStream(mode: Extract<Mode, { kind: 'stream' }>, chunk: Buffer): void {
    if (mode.bytes > transportLimits.streamBytesMax) {
      this.#fail(
        'too_large',
        `the vendor sent a stream of more than ${transportLimits.streamBytesMax} bytes`,
      );
      return;
    }
    this.#feed.accept(chunk.length, (out) => {
      mode.parser.push(chunk, (event) => {
        // Items after a failure in the same read are ignored.
        if (out.at(-1)?.type !== 'failure') mode.reader.read(event, out);
      });
      if (mode.reader.done && out.at(-1)?.type !== 'failure') mode.reader.end(out);
    });
    if (mode.reader.done) this.#finishEarly();
  }

  /** The answer is complete; the connection gets a moment to end by itself, so that it can be used again. */
  #finishEarly(): void {
    if (this.#feed.ended) return;
    this.#feed.finish();
    const { source } = this.#feed;
    this.#lingering = this.#options.time.after(lingerMs, () => source?.close());
  }

  #collect(mode: Extract<Mode, { kind: 'whole' | 'error' }>, chunk: Buffer): void {
    if (mode.kind === 'error') {
      const room = transportLimits.errorBytesMax - (mode.bytes - chunk.length);
      if (room > 0) mode.chunks.push(chunk.subarray(0, room));
    } else if (mode.bytes > transportLimits.replyBytesMax) {
      this.#fail('too_large', `the vendor sent a reply of more than ${transportLimits.replyBytesMax} bytes`);
    } else mode.chunks.push(chunk);
  }

  #readWhole(bytes: Buffer, out: ReplyItem[]): void {
    const { adapter, request, model } = this.#options;
    let body: unknown;
    try {
      body = parseReply(bytes, adapter.replyValuesMax?.(request, model));
    } catch (error) {
      if (!(error instanceof TooLargeError)) throw error;
      for (const item of usageInLarge(adapter, bytes)) out.push(item);
      throw new TooLargeError(`${error.message}; ask for less at once, or for a stream`);
    }
    if (body !== undefined) {
      adapter.fromReply(body, out);
      return;
    }
    const error = new VendorError('nonsense', 'the reply is not JSON', { vendor: adapter.vendor });
    out.push({ type: 'failure', error });
  }

  #fail(failure: 'transport' | 'too_large', what: string, code?: string): void {
    const { vendor } = this.#options.adapter;
    this.#feed.fail(new VendorError(failure, what, { vendor, ...(code !== undefined && { code }) }));
    this.#feed.source?.close();
  }
}

function together(chunks: readonly Buffer[]): Buffer {
  const [only] = chunks;
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
}

function requestIdOf(headers: Headers): string | undefined {
  const id =
    header(headers, 'x-request-id') ?? header(headers, 'request-id') ?? header(headers, 'x-generation-id');
  return id?.slice(0, 200);
}
