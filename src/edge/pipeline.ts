import type { Caller } from '../context/caller.js';
import { PlatformError } from '../errors.js';
import {
  type Admission,
  allows,
  type Authenticator,
  codeOf,
  envelope,
  JsonReply,
  type Operation,
  parseJson,
  type RateFigures,
  RawReply,
  StreamReply,
  unexpected,
  validate,
} from '../operations/index.js';
import type { Exchange, HeaderList } from './exchange.js';
import type { Incoming } from './incoming.js';
import { parseQuery } from './query.js';
import { RequestView } from './request-view.js';

/** What a finished request tells the log, the metrics and the errors endpoint. */
export interface RequestReport {
  readonly operation: string;
  readonly exchange: Exchange;
  readonly caller: Caller | undefined;
  readonly errorCode: string | undefined;
  /** Set only for failures that nobody foresaw. */
  readonly failure: unknown;
}

export interface PipelineParts {
  readonly authenticator: Authenticator;
  readonly admission: Admission;
  /** Headers that depend on the request's origin. */
  readonly crossOriginHeaders: (origin: string) => HeaderList;
  readonly report: (report: RequestReport) => void;
  readonly closing: () => boolean;
}

/**
 * The way of every request: who is it, may it come in, may it do this, is it well formed, then the handler. A step
 * that has its answer in memory gives it without a promise, so a plain read stays within one tick.
 */
export class Pipeline {
  readonly #parts: PipelineParts;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  async run(incoming: Incoming): Promise<void> {
    const { operation, exchange } = incoming;
    const progress: Progress = { caller: undefined, figures: undefined };
    try {
      const reading = this.#beginBody(operation, exchange);
      const caller = await this.#admit(incoming, progress, reading !== undefined);
      const body = reading === undefined ? undefined : await reading.bytes;
      const request = this.#validated(incoming, caller, body);
      if (operation.rate === 'model-work') await this.#admitModelWork(caller, progress);
      const answer = operation.handle(request);
      await this.#reply(incoming, progress, answer instanceof Promise ? await answer : answer);
    } catch (error) {
      this.refuse(incoming.exchange, operation.name, operation.dialect, progress, error);
    }
  }

  /** Listens for the body at once, as the native side demands; it is kept only once the caller is let in. */
  #beginBody(operation: Operation, exchange: Exchange): { bytes: Promise<Uint8Array> } | undefined {
    if (operation.method === 'GET' || (operation.body === undefined && operation.bodyRules.form === 'json'))
      return undefined;
    const bytes = exchange.readBody(operation.bodyRules.maxBytes);
    bytes.catch(bodyOfRefusedRequest);
    return { bytes };
  }

  async #admit(
    { operation, credentials, exchange }: Incoming,
    progress: Progress,
    hasBody: boolean,
  ): Promise<Caller> {
    const found = this.#parts.authenticator.authenticate(credentials, operation.access);
    let caller: Caller;
    if (found instanceof Promise) {
      if (hasBody) exchange.pause();
      try {
        caller = await found;
      } finally {
        // Also after a refusal: the connection stays open, and a paused one would never hear its next request.
        if (hasBody) exchange.resume();
      }
    } else caller = found;
    progress.caller = caller;
    const admitting = this.#parts.admission.admitRequest(caller, operation.rate);
    const admitted = admitting instanceof Promise ? await admitting : admitting;
    progress.figures = admitted.figures;
    if (admitted.refusal !== undefined) throw admitted.refusal;
    const { permission } = operation.access;
    if (permission !== null && 'role' in caller && !allows(caller.role, permission)) {
      throw new PlatformError('insufficient_permissions', {
        message: `The role ${caller.role} does not hold the permission ${permission}.`,
        details: { permission, role: caller.role },
      });
    }
    return caller;
  }

  async #admitModelWork(caller: Caller, progress: Progress): Promise<void> {
    const admitting = this.#parts.admission.admitModelWork(caller);
    const admitted = admitting instanceof Promise ? await admitting : admitting;
    progress.figures = admitted.figures;
    if (admitted.refusal !== undefined) throw admitted.refusal;
  }

  #validated(incoming: Incoming, caller: Caller, bytes: Uint8Array | undefined): RequestView {
    const { operation, exchange } = incoming;
    const params = operation.params === undefined ? incoming.params : validParams(operation, incoming.params);
    const query =
      operation.query === undefined ? {} : validate(operation.query, parseQuery(exchange.head.query));
    const body =
      operation.body === undefined || bytes === undefined
        ? undefined
        : validate(operation.body, bodyOf(operation, bytes, exchange));
    return new RequestView(incoming, caller, params, query, body, bytes ?? noBytes);
  }

  async #reply({ operation, exchange }: Incoming, progress: Progress, answer: unknown): Promise<void> {
    if (answer instanceof StreamReply) return this.#stream(operation, exchange, progress, answer);
    if (answer instanceof RawReply) {
      const headers = this.headers(
        exchange,
        progress.figures,
        answer.contentType,
        Object.entries(answer.headers),
      );
      exchange.send(answer.status, headers, answer.body, this.#parts.closing());
    } else if (answer instanceof JsonReply) {
      const headers = this.headers(exchange, progress.figures, jsonType, Object.entries(answer.headers));
      exchange.send(answer.status, headers, JSON.stringify(answer.body), this.#parts.closing());
    } else {
      const headers = this.headers(exchange, progress.figures, jsonType, []);
      exchange.send(operation.status, headers, JSON.stringify(answer), this.#parts.closing());
    }
    this.#parts.report({
      operation: operation.name,
      exchange,
      caller: progress.caller,
      errorCode: undefined,
      failure: undefined,
    });
  }

  async #stream(
    operation: Operation,
    exchange: Exchange,
    progress: Progress,
    answer: StreamReply,
  ): Promise<void> {
    const headers = this.headers(
      exchange,
      progress.figures,
      answer.contentType,
      Object.entries(answer.headers),
    );
    const writer = exchange.openStream(200, headers);
    let failure: unknown;
    try {
      await answer.run(writer);
      exchange.end();
    } catch (error) {
      // The head is long sent: a broken connection is the only way left to say that the stream is not whole.
      failure = error;
      exchange.cut();
    }
    this.#parts.report({
      operation: operation.name,
      exchange,
      caller: progress.caller,
      errorCode: failure === undefined ? undefined : 'internal_error',
      failure,
    });
  }

  /** Answers with a refusal, in the operation's dialect. */
  refuse(
    exchange: Exchange,
    operationName: string,
    dialect: Operation['dialect'],
    progress: Progress,
    thrown: unknown,
  ): void {
    const error = thrown instanceof PlatformError ? thrown : unexpected(thrown);
    const figures = figuresOfRefusal(error) ?? progress.figures;
    const extra: [string, string][] = Object.entries(error.headers);
    if (error.retryAfterSeconds !== undefined) extra.push(['Retry-After', String(error.retryAfterSeconds)]);
    const headers = this.headers(exchange, figures, jsonType, extra);
    // After 413 the rest of the body is still on its way; only closing the connection stops it.
    const close = error.code === 'payload_too_large' || this.#parts.closing();
    exchange.send(error.status, headers, JSON.stringify(envelope(error, dialect)), close);
    this.#parts.report({
      operation: operationName,
      exchange,
      caller: progress.caller,
      errorCode: codeOf(error, dialect),
      failure: error === thrown ? undefined : thrown,
    });
  }

  headers(
    exchange: Exchange,
    figures: RateFigures | undefined,
    contentType: string,
    extra: readonly (readonly [string, string])[],
  ): HeaderList {
    const { requestId, origin } = exchange.head;
    const list: (readonly [string, string])[] = [
      ['Content-Type', contentType],
      ['X-Request-Id', requestId],
      ['X-Content-Type-Options', 'nosniff'],
    ];
    const shown = figures ?? this.#parts.admission.figuresOfAddress(exchange.head.address);
    list.push(
      ['X-RateLimit-Limit', String(shown.limit)],
      ['X-RateLimit-Remaining', String(shown.remaining)],
      ['X-RateLimit-Reset', String(shown.reset)],
    );
    if (origin !== '') list.push(...this.#parts.crossOriginHeaders(origin));
    for (const entry of extra) list.push(entry);
    return list;
  }
}

interface Progress {
  caller: Caller | undefined;
  figures: RateFigures | undefined;
}

/** A request that is refused first never awaits its body; what becomes of that body concerns nobody. */
function bodyOfRefusedRequest(): void {}

const jsonType = 'application/json; charset=utf-8';
const noBytes = new Uint8Array(0);

/** A window of an operation's own (failed sign-ins) refuses with its own figures. */
function figuresOfRefusal({ code, details }: PlatformError): RateFigures | undefined {
  if (code !== 'rate_limit_exceeded') return undefined;
  const { limit, remaining, reset } = details ?? {};
  return typeof limit === 'number' && typeof remaining === 'number' && typeof reset === 'number'
    ? { limit, remaining, reset }
    : undefined;
}

function validParams(operation: Operation, params: unknown): unknown {
  const result = operation.params?.safeParse(params);
  if (result === undefined || result.success) return result?.data;
  // An id of the wrong form names nothing that could exist.
  throw new PlatformError(operation.absent);
}

function bodyOf(operation: Operation, bytes: Uint8Array, exchange: Exchange): unknown {
  if (operation.bodyRules.form === 'raw') return bytes;
  if (bytes.byteLength === 0) return {};
  const { contentType } = exchange.head;
  if (contentType !== '' && !/^application\/(?:[\w.+-]+\+)?json\b/i.test(contentType)) {
    throw new PlatformError('unsupported_media_type', {
      message: `The body must be application/json, not ${contentType.slice(0, 100)}.`,
    });
  }
  return parseJson(bytes, operation.bodyRules);
}
