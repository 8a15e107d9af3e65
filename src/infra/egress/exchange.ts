import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { AddressRules } from './address-rules.js';
import { Clock } from './clock.js';
import { EgressError } from './egress-error.js';
import { failureOf } from './failure.js';
import type { MayBegin } from './last-look.js';
import type { Places } from './places.js';
import { checkHeaders } from './header-rules.js';
import { dropsBody, locationOf, nextTarget } from './redirect-rules.js';
import { hostNamed, readUrl, type Target } from './target-rules.js';

export const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
export type OutboundMethod = (typeof methods)[number];

export interface OutboundRequest {
  readonly url: string | URL;
  readonly method?: OutboundMethod;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Covers everything from the first look-up to the last byte of the answer, including redirects. */
  readonly timeoutMs: number;
  /** Maximum silence of the other side; never longer than `timeoutMs`. */
  readonly silenceMs?: number;
  /** Maximum size of the answer, after decompression. */
  readonly bodyBytesMax?: number;
  /** How a larger answer is handled: as an error, or cut. */
  readonly oversize?: 'refuse' | 'cut';
  /** Maximum number of redirects followed on the same host; with 0 the redirect is the answer. */
  readonly redirectsMax?: number;
  /** If true, no redirect to another scheme or port is followed, not even to TLS: the secret is for this origin only. */
  readonly holdsSecret?: boolean;
  /** Asked right before each request is written to its connection; false fails the call with `withdrawn`. */
  readonly mayBegin?: MayBegin;
  /** Whose request it is: the tenant. Slow requests of one share leave the others their places at an origin. */
  readonly share?: string;
  /** Any of these signals cancels the call. */
  readonly signal?: AbortSignal | readonly AbortSignal[];
}

export interface StreamedAnswer {
  readonly status: number;
  /** Names in lower case; repeated headers are joined with commas. */
  readonly headers: Readonly<Record<string, string>>;
  /** The URL of the answer, after redirects. */
  readonly url: string;
  /** Bounded in size and time. Leaving it early closes the connection. */
  readonly body: AsyncGenerator<Uint8Array, void, void>;
  /** True after the body was cut. */
  readonly truncated: () => boolean;
}

const bodyBytesMaxDefault = 1024 * 1024;
const redirectsMaxDefault = 3;

/** What all requests of one guard have in common. */
export interface WayOut {
  readonly rules: AddressRules;
  readonly dispatcher: Dispatcher;
  readonly places: Places;
}

/** Sends the request, follows redirects on the same host, and resolves when the headers have arrived. */
export async function exchange(way: WayOut, request: OutboundRequest): Promise<StreamedAnswer> {
  const target = targetOf(way.rules, String(request.url));
  checkHeaders(request.headers ?? {}, 'headers');
  const clock = new Clock(target.host, request);
  try {
    return await follow(way, request, target, clock);
  } catch (error) {
    clock.stop();
    throw failureOf(error, target.host, clock);
  }
}

async function follow(
  way: WayOut,
  request: OutboundRequest,
  first: Target,
  clock: Clock,
): Promise<StreamedAnswer> {
  const redirectsMax = request.redirectsMax ?? redirectsMaxDefault;
  let { method = 'GET', body } = request;
  let headers = outgoing(request.headers ?? {});
  let target = first;
  for (let redirects = 0; ; redirects += 1) {
    const answer = await send(way, request, { target, method, headers, body }, clock);
    const location = locationOf(answer.statusCode, answer.headers['location']);
    if (location === undefined || redirectsMax === 0) return streamed(request, target, answer, clock);
    drop(answer.body);
    if (redirects === redirectsMax) {
      throw new EgressError('redirect_refused', `${target.host} redirects more than ${redirectsMax} times.`, {
        host: target.host,
      });
    }
    target = nextTarget(way.rules, target, location, request);
    if (dropsBody(answer.statusCode, method)) {
      if (method !== 'HEAD') method = 'GET';
      body = undefined;
      headers = Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('content-')));
    }
  }
}

interface Attempt {
  readonly target: Target;
  readonly method: OutboundMethod;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
}

function send(
  { dispatcher, places }: WayOut,
  request: OutboundRequest,
  { target, method, headers, body }: Attempt,
  clock: Clock,
): Promise<Dispatcher.ResponseData<unknown>> {
  const silenceMs = Math.min(request.silenceMs ?? request.timeoutMs, request.timeoutMs);
  const { origin } = target.url;
  const ask = (): Promise<Dispatcher.ResponseData<unknown>> =>
    dispatcher.request({
      origin,
      path: target.url.pathname + target.url.search,
      method,
      headers,
      body: body ?? null,
      signal: clock.signal,
      // Read by `lastLook`.
      opaque: clock.mayWrite,
      headersTimeout: silenceMs,
      bodyTimeout: silenceMs,
    });
  return clock.bound(
    new Promise((resolve, reject) => {
      const work = async (): Promise<void> => {
        // It may have waited for its place until after the end.
        clock.signal.throwIfAborted();
        const answer = await ask();
        // The body has its listener before anybody can end it.
        const closed = new Promise<void>((end) => answer.body.once('close', end));
        resolve(answer);
        await closed;
      };
      // A request that is given up keeps its place until its connection is free again.
      places.use(origin, request.share ?? '', work).catch(reject);
    }),
  );
}

function streamed(
  request: OutboundRequest,
  target: Target,
  answer: Dispatcher.ResponseData<unknown>,
  clock: Clock,
): StreamedAnswer {
  const headers = flattened(answer.headers);
  const state = { truncated: false };
  const source = decompressed(answer.body, headers);
  return {
    status: answer.statusCode,
    headers,
    url: target.url.href,
    body: endedUnread(bounded(source, request, target.host, clock, state), () => {
      clock.stop();
      drop(source);
    }),
    truncated: () => state.truncated,
  };
}

/** A generator that is left before its first step runs no `finally`: `end` then does what it would have done. */
function endedUnread<Chunk>(
  body: AsyncGenerator<Chunk, void, void>,
  end: () => void,
): AsyncGenerator<Chunk, void, void> {
  const { next } = body;
  const leave = body.return;
  let begun = false;
  return Object.assign(body, {
    next: () => {
      begun = true;
      return next.call(body);
    },
    return: (value: void) => {
      if (!begun) end();
      return leave.call(body, value);
    },
  });
}

async function* bounded(
  source: Readable,
  { bodyBytesMax = bodyBytesMaxDefault, oversize = 'refuse' }: OutboundRequest,
  host: string,
  clock: Clock,
  state: { truncated: boolean },
): AsyncGenerator<Uint8Array, void, void> {
  let left = bodyBytesMax;
  try {
    for await (const chunk of source as AsyncIterable<Uint8Array>) {
      if (chunk.length <= left) {
        left -= chunk.length;
        yield chunk;
        continue;
      }
      if (oversize === 'refuse') {
        throw new EgressError('too_large', `The answer of ${host} is larger than ${bodyBytesMax} bytes.`, {
          host,
        });
      }
      state.truncated = true;
      if (left > 0) yield chunk.subarray(0, left);
      return;
    }
  } catch (error) {
    if (!isEmpty(source, error)) throw failureOf(error, host, clock);
  } finally {
    clock.stop();
  }
}

function targetOf(rules: AddressRules, url: string): Target {
  const target = readUrl(rules, url);
  if (typeof target !== 'string') return target;
  throw new EgressError('forbidden_target', `The URL ${target}.`, { host: hostNamed(url), neverSent: true });
}

function outgoing(headers: Readonly<Record<string, string>>): Record<string, string> {
  const lower = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  return { 'user-agent': 'Troupe', 'accept-encoding': 'identity', ...lower };
}

function flattened(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const flat = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : (value ?? ''),
  ]);
  return Object.fromEntries(flat) as Record<string, string>;
}

/** Some servers compress although the request asked them not to. The headers are adapted to the decompressed body. */
function decompressed(body: Readable, headers: Record<string, string>): Readable {
  // An error without a listener would end the process; a reader of the body gets it in any case.
  body.on('error', () => undefined);
  const decoder = decoderFor(headers['content-encoding']?.trim().toLowerCase());
  if (decoder === undefined) return body;
  delete headers['content-encoding'];
  delete headers['content-length'];
  return pipeline(body, decoder, () => undefined);
}

/** Servers name the encoding of an empty body too, such as that of a 204; a decoder misses its first bytes then. */
function isEmpty(source: Readable, error: unknown): boolean {
  const bytes: unknown = Reflect.get(source, 'bytesWritten');
  return bytes === 0 && error instanceof Error && Reflect.get(error, 'code') === 'Z_BUF_ERROR';
}

function decoderFor(encoding: string | undefined) {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      return undefined;
  }
}

function drop(body: Readable): void {
  body.on('error', () => undefined).destroy();
}
