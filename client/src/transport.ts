import { backoffMs } from './backoff.js';
import { type Accepts, CredentialHolder, type Credentials, isTokenRefusal } from './credentials.js';
import { type ApiError, ConnectionError, refusalOf } from './errors.js';
import { Limit } from './limit.js';
import { reasonOf, type Surroundings, wait } from './surroundings.js';

export interface TransportOptions extends Credentials {
  /** Where the platform is. Several addresses are nodes of one installation: a request goes to the next if one is away. */
  readonly baseUrl: string | readonly string[];
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** How often a request is tried again. Default 3. */
  readonly retries?: number | undefined;
  /** The longest wait that the platform may ask for by `Retry-After`; beyond it the error is thrown. Default 60 s. */
  readonly retryAfterMsMax?: number | undefined;
  /**
   * The time for an answer, with the credentials that are asked for before; of a stream or a file, for its head. Default
   * 10 minutes, because a call of a model may think for long.
   */
  readonly timeoutMs?: number | undefined;
}

/** One request, with what decides about its retries. */
export interface Sending {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: Uint8Array | undefined;
  readonly accepts: Accepts;
  /** A second one harms nothing, whatever its method is. */
  readonly isRepeatable?: boolean | undefined;
  /** An answer of JSON is complete with its body, which the limit covers too. Streams and files are read by the caller. */
  readonly isWhole?: boolean | undefined;
  readonly signal: AbortSignal | undefined;
  readonly retries?: number | undefined;
  readonly timeoutMs?: number | undefined;
  /** Called after each attempt that was sent and not answered: the platform may have received it. */
  readonly onUnanswered?: (() => void) | undefined;
}

interface TokenAnswer {
  readonly data: { readonly access_token: string; readonly expires_in: number };
}

const retriesDefault = 3;
const retryAfterMsMaxDefault = 60_000;
const timeoutMsDefault = 10 * 60_000;

/** The platform refuses these before it does anything, or a proxy writes them for a node that is away. */
const passingStatuses: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);
/** The platform has tried all that it may, or no time helps. */
const finalCodes: ReadonlySet<string> = new Set([
  'quota_exceeded',
  'provider_error',
  'provider_timeout',
  'provider_unavailable',
  'response_format_mismatch',
  'DELIVERY_FAILED',
]);
const repeatableMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']);

/** Sends requests: credentials, time limit, retries, and the next node where one is away. */
export class Transport {
  readonly surroundings: Surroundings;
  readonly #credentials: CredentialHolder;
  readonly #options: TransportOptions;
  readonly #baseUrls: readonly string[];
  #at = 0;

  constructor(options: TransportOptions, surroundings: Surroundings) {
    this.#options = options;
    this.surroundings = surroundings;
    const given = typeof options.baseUrl === 'string' ? [options.baseUrl] : options.baseUrl;
    this.#baseUrls = given.map((url) => url.replace(/\/+$/, ''));
    if (this.#baseUrls.length === 0) throw new TypeError('baseUrl is empty; name at least one address.');
    this.#credentials = new CredentialHolder(options, (apiKey) => this.#exchange(apiKey), surroundings.nowMs);
  }

  /** The answer, also where it is an error that no retry ends. Rejects if no node answers. */
  async send(sending: Sending): Promise<Response> {
    const { surroundings } = this;
    const retries = sending.retries ?? this.#options.retries ?? retriesDefault;
    let isRefreshed = false;
    for (let failures = 1; ; failures += 1) {
      const outcome = await this.#attempt(sending);
      if (outcome instanceof Response && outcome.ok) return outcome;
      const error =
        outcome instanceof Response
          ? await refusalOf(outcome.clone(), surroundings.nowMs())
          : new ConnectionError(`${sending.method} ${sending.path}: no answer`, { cause: outcome });
      if (!(error instanceof ConnectionError) && isTokenRefusal(error) && !isRefreshed) {
        isRefreshed = true;
        if (await this.#renewed(sending)) continue;
      }
      const waitMs = failures > retries ? undefined : this.#waitMs(sending, error, failures);
      if (waitMs === undefined) {
        if (outcome instanceof Response) return outcome;
        throw error;
      }
      if (outcome instanceof Response) void outcome.body?.cancel().catch(() => undefined);
      await wait(surroundings, waitMs, sending.signal);
    }
  }

  /** The JSON of a successful answer; rejects with the error of any other. */
  async json<Answer>(sending: Sending): Promise<Answer> {
    const response = await this.send({ ...sending, isWhole: true });
    if (!response.ok) throw await refusalOf(response, this.surroundings.nowMs());
    return (await response.json()) as Answer;
  }

  get retryAfterMsMax(): number {
    return this.#options.retryAfterMsMax ?? retryAfterMsMaxDefault;
  }

  /** Whether requests are those of a signed-in user. */
  get hasUser(): boolean {
    return this.#options.accessToken !== undefined;
  }

  /** One attempt without retries; the next one goes to another node if this one is away. */
  async attempt(sending: Sending): Promise<Response> {
    const outcome = await this.#attempt(sending);
    if (outcome instanceof Response) return outcome;
    throw new ConnectionError(`${sending.method} ${sending.path}: no answer`, { cause: outcome });
  }

  /** For one that was refused although its token should be valid. True if another token will be sent. */
  dropToken(): Promise<boolean> {
    return this.#credentials.dropToken();
  }

  #limitOf({ timeoutMs, signal }: Sending): Limit {
    return new Limit(timeoutMs ?? this.#options.timeoutMs ?? timeoutMsDefault, this.surroundings, signal);
  }

  /** True if another token takes the place of the refused one. */
  async #renewed(sending: Sending): Promise<boolean> {
    const limit = this.#limitOf(sending);
    try {
      return await limit.of(this.#credentials.dropToken());
    } catch (cause) {
      if (!limit.isOver) throw cause;
      throw new ConnectionError(`${sending.method} ${sending.path}: no other token`, { cause });
    } finally {
      limit.end();
    }
  }

  async #attempt(sending: Sending): Promise<unknown> {
    const { signal } = sending;
    signal?.throwIfAborted();
    const limit = this.#limitOf(sending);
    try {
      return await this.#answer(sending, await limit.of(this.#headersFor(sending)), limit);
    } catch (error) {
      // What the caller aborts is not tried again, and rejects as `fetch` does.
      if (signal?.aborted === true) throw reasonOf(signal);
      // Credentials that are late may be there at the next attempt; those that fail will fail again.
      if (limit.isOver) return error;
      throw error;
    } finally {
      limit.end();
    }
  }

  async #headersFor(sending: Sending): Promise<Headers> {
    const headers = new Headers({ ...this.#options.headers });
    for (const [name, value] of Object.entries(await this.#credentials.headersFor(sending.accepts)))
      headers.set(name, value);
    sending.headers.forEach((value, name) => headers.set(name, value));
    return headers;
  }

  /** The node's answer, or why there is none: the next request then goes to another node. */
  async #answer(sending: Sending, headers: Headers, limit: Limit): Promise<unknown> {
    const { method, path, body, signal } = sending;
    const base = this.#baseUrls[this.#at % this.#baseUrls.length] ?? '';
    try {
      const request = new Request(`${base}${path}`, {
        method,
        headers,
        // The caller's signal also ends a body that is read later.
        signal: limit.signal,
        // `fetch` would send the key on to the address that a redirect names, and a POST as a GET.
        redirect: 'error',
        ...(body === undefined ? {} : { body: body as BodyInit }),
      });
      const response = await limit.of(this.surroundings.fetch(request));
      if (response.status >= 502 && response.status <= 504) this.#at += 1;
      if (!response.ok) return await readRefusal(response, limit);
      return sending.isWhole === true && isJson(response) ? await readWhole(response, limit) : response;
    } catch (error) {
      sending.onUnanswered?.();
      if (signal?.aborted === true) throw error;
      this.#at += 1;
      return error ?? new Error('fetch failed');
    }
  }

  /** The wait before the next attempt, or undefined if there must be none. */
  #waitMs(sending: Sending, error: ApiError | ConnectionError, failures: number): number | undefined {
    const isRepeatable =
      sending.isRepeatable === true ||
      repeatableMethods.has(sending.method) ||
      sending.headers.has('idempotency-key');
    const backoff = backoffMs(this.surroundings, failures);
    if (error instanceof ConnectionError) return isRepeatable ? backoff : undefined;
    if (!passingStatuses.has(error.status) || finalCodes.has(error.code)) return undefined;
    const { retryAfterMs } = error;
    // With `Retry-After`, the platform says that it did nothing and that the same request is welcome later.
    if (!isRepeatable && error.status !== 429 && retryAfterMs === undefined) return undefined;
    if (retryAfterMs === undefined) return backoff;
    return retryAfterMs > this.retryAfterMsMax ? undefined : Math.max(retryAfterMs, backoff);
  }

  async #exchange(apiKey: string) {
    const { surroundings } = this;
    const startedMs = surroundings.nowMs();
    const { data } = await this.json<TokenAnswer>({
      method: 'POST',
      path: '/api/auth/token',
      headers: new Headers({ 'x-api-key': apiKey }),
      body: undefined,
      accepts: { key: false, user: false, operator: false },
      // A token that nobody received ends by itself.
      isRepeatable: true,
      signal: undefined,
    });
    return { token: data.access_token, expiresAtMs: startedMs + data.expires_in * 1_000 };
  }
}

function isJson({ headers }: Response): boolean {
  return /[/+]json\s*(?:;|$)/i.test(headers.get('content-type') ?? '');
}

/** The same answer, with its body in memory. */
async function readWhole(response: Response, limit: Limit): Promise<Response> {
  if (response.body === null) return response;
  const bytes = await limit.of(response.arrayBuffer());
  return new Response(bytes, response);
}

/** Its status refuses the request, whether or not its body arrives. */
async function readRefusal(response: Response, limit: Limit): Promise<Response> {
  try {
    return await readWhole(response, limit);
  } catch (error) {
    if (limit.signal.aborted && !limit.isOver) throw error;
    return new Response(null, response);
  }
}
