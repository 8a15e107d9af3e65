import { EgressError } from './egress-error.js';
import { methods, type OutboundMethod, type OutboundRequest, type StreamedAnswer } from './exchange.js';

/** The part of `fetch` that client packages of HTTP protocols use. */
export type FetchLike = (url: string | URL, init?: RequestInit) => Promise<Response>;

export type FetchLimits = Pick<
  OutboundRequest,
  'timeoutMs' | 'silenceMs' | 'bodyBytesMax' | 'redirectsMax' | 'mayBegin' | 'share'
> & { readonly signal?: AbortSignal };

const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

/** A `fetch` for such packages that enforces the rules and these limits, whatever the package asks for. */
export function fetchLike(
  stream: (request: OutboundRequest) => Promise<StreamedAnswer>,
  limits: FetchLimits,
): FetchLike {
  return async (url, init = {}) => {
    const answer = await stream({
      ...limits,
      url,
      method: methodOf(init.method ?? 'GET'),
      headers: Object.fromEntries(new Headers(init.headers)),
      ...bodyOf(init.body),
      signal: [limits.signal, init.signal ?? undefined].filter((signal) => signal !== undefined),
    });
    // A `Response` takes no other.
    if (answer.status < 200 || answer.status > 599) {
      await answer.body.return();
      const host = new URL(answer.url).hostname;
      const message = `${host} answers with the status ${answer.status}, which is none of HTTP.`;
      throw new EgressError('bad_answer', message, { host });
    }
    const head = { status: answer.status, headers: answer.headers };
    if (withoutBody.has(answer.status)) {
      await answer.body.return();
      return new Response(null, head);
    }
    return new Response(ReadableStream.from<Uint8Array>(answer.body), head);
  };
}

function methodOf(text: string): OutboundMethod {
  const found = methods.find((method) => method === text.toUpperCase());
  if (found === undefined) throw new TypeError(`The method ${text} is not supported`);
  return found;
}

function bodyOf(body: unknown): { body?: string | Uint8Array } {
  if (body === undefined || body === null) return {};
  if (typeof body === 'string' || body instanceof Uint8Array) return { body };
  if (body instanceof URLSearchParams) return { body: body.toString() };
  throw new TypeError('The body must be text or bytes');
}
