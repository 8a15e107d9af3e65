import type { ByteBudget } from '../../kernel/byte-budget.js';
import type { Caller } from '../../kernel/caller.js';
import { type Ready, whenReady, isReady } from '../../kernel/ready.js';
import { type ErrorCode, PlatformError } from '../../kernel/errors.js';
import {
  type Admission,
  type Authenticator,
  type Dialect,
  envelope,
  JsonReply,
  type Operation,
  RawReply,
  SocketReply,
  StreamReply,
  unexpected,
  spelled,
  validBody,
  validQuery,
} from '../operations/index.js';
import { dialectOf } from './error-forms.js';
import type { Exchange, HeaderList, ReplyHead, RequestHead } from './exchange.js';
import type { Incoming } from './incoming.js';
import type { OpenStreams } from './open-streams.js';
import { refuseOtherTenant, withoutPermission } from './permitted.js';
import type { Progress, Running } from './progress.js';
import { parseQuery } from './query.js';
import { bodyOf } from './request-body.js';
import { figuresOfRefusal } from './refusal-figures.js';
import { headersOfRefusal } from './refusal-headers.js';
import { RequestView } from './request-view.js';
import { closeCodes, OpenSocket } from './sockets.js';

/** The data of a finished request for the log, the metrics and the errors endpoint. */
export interface RequestReport {
  readonly operation: string;
  readonly exchange: Exchange;
  readonly caller: Caller | undefined;
  readonly errorCode: ErrorCode | undefined;
  /** The code as the client saw it. */
  readonly spelledCode: string | undefined;
  /** Set only for unexpected failures. */
  readonly failure: unknown;
}

export interface PipelineParts {
  readonly authenticator: Authenticator;
  readonly admission: Admission;
  /** Headers that depend on the request's origin. */
  readonly crossOriginHeaders: (origin: string, caller: Caller | undefined) => HeaderList;
  readonly report: (report: RequestReport) => void;
  readonly streams: OpenStreams;
  readonly socketClosed: (head: RequestHead) => void;
  readonly bodyBudget: ByteBudget;
  /** The open sockets. */
  readonly sockets: Set<OpenSocket>;
  /** Maps a failure of a lower layer to an error for the caller; undefined for unexpected failures. */
  readonly refusalOf: (error: unknown) => PlatformError | undefined;
  readonly closing: () => boolean;
}

/**
 * The steps of every request: authenticate, admit, check the permission, validate, handle. A step whose result is in
 * memory returns it without a promise, so a plain read stays within one tick.
 */
export class Pipeline {
  readonly #parts: PipelineParts;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  run(incoming: Incoming): void {
    const { span } = incoming;
    if (span === undefined) this.#run(incoming);
    else span.within(() => this.#run(incoming));
  }

  #run(incoming: Incoming): void {
    const { operation, exchange } = incoming;
    const progress: Running = {
      caller: undefined,
      figures: undefined,
      span: incoming.span,
      mark: this.#parts.streams.mark,
      asksForWork: false,
      bodyBytes: 0,
    };
    const fail = (error: unknown): void => {
      // Refused before `admitModelWork`: the work that was counted ahead does not start.
      progress.ahead?.refund();
      if (progress.asksForWork && progress.caller !== undefined) {
        this.#parts.admission.noteRefusedWork(progress.caller, progress.bodyBytes);
      }
      const dialect = dialectOf(operation.dialect, exchange.head);
      this.refuse(exchange, operation.name, dialect, progress, challenged(operation, error));
    };
    try {
      const reading = this.#beginBody(operation, exchange);
      const done = whenReady(this.#admit(incoming, progress, reading !== undefined), (admitted) =>
        whenReady(reading?.bytes, (bytes) =>
          whenReady(this.#callerNow(incoming, progress, admitted), (caller) => {
            progress.bodyBytes = bytes?.length ?? 0;
            const request = this.#validated(incoming, caller, bytes);
            return whenReady(this.#admitModelWork(operation, caller, progress), () =>
              whenReady(operation.handle(request), (answer) => this.#reply(incoming, progress, answer)),
            );
          }),
        ),
      );
      if (!isReady(done)) done.catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  /** Listens for the body at once, as the native side requires; the body is kept only once the caller is admitted. */
  #beginBody(operation: Operation, exchange: Exchange): { bytes: Promise<Uint8Array> } | undefined {
    if (!readsBody(operation)) return undefined;
    return { bytes: exchange.readBody(operation.bodyRules, this.#parts.bodyBudget) };
  }

  #admit(incoming: Incoming, progress: Running, hasBody: boolean): Ready<Caller> {
    const { operation, exchange } = incoming;
    const admitted = whenReady(this.#authenticated(incoming, progress), (caller) =>
      whenReady(this.#parts.admission.admitRequest(caller, operation.rate), (first) => {
        progress.figures = first.figures;
        progress.ahead = first.ahead;
        if (first.refusal !== undefined) throw first.refusal;
        progress.asksForWork = operation.rate === 'model-work';
        return this.#permitted(incoming, caller);
      }),
    );
    if (!isReady(admitted) && hasBody) {
      exchange.pause();
      // Also after a refusal: the connection stays open, and a paused one would never read its next request.
      const resume = (): void => exchange.resume();
      admitted.then(resume, resume);
    }
    return admitted;
  }

  #authenticated({ credentials, operation }: Incoming, progress: Running): Ready<Caller> {
    return whenReady(this.#parts.authenticator.authenticate(credentials, operation.access), (caller) => {
      progress.caller = caller;
      return caller;
    });
  }

  /**
   * The caller once the request has waited for its admission and its body. If something that the caller depends on ended
   * meanwhile, the credential is looked up again: the request is refused, or goes on with the caller's present role.
   */
  #callerNow(incoming: Incoming, progress: Running, caller: Caller): Ready<Caller> {
    const { streams } = this.#parts;
    if (streams.endedSince(progress.mark, caller) === undefined) return caller;
    progress.mark = streams.mark;
    return whenReady(this.#authenticated(incoming, progress), (now) => this.#permitted(incoming, now));
  }

  #permitted(incoming: Incoming, caller: Caller): Ready<Caller> {
    refuseOtherTenant(incoming.credentials, caller);
    return whenReady(this.#refuseWithoutPermission(incoming, caller), () => caller);
  }

  /** Where a refused attempt is an audit entry, the entry is committed before the answer. */
  #refuseWithoutPermission({ operation, params, exchange }: Incoming, caller: Caller): Ready<void> {
    const refusal = withoutPermission(operation, caller);
    if (refusal === undefined) return;
    const named = operation.params?.safeParse(params);
    const noted = operation.refused?.(
      {
        caller,
        // The entry has the id in the spelling by which entries are found.
        params: named?.success === true ? named.data : params,
        requestId: exchange.head.requestId,
      },
      refusal,
    );
    return whenReady(noted, () => {
      throw refusal;
    });
  }

  #admitModelWork({ rate }: Operation, caller: Caller, progress: Running): Ready<void> {
    if (rate !== 'model-work') return;
    const { ahead } = progress;
    progress.ahead = undefined;
    progress.asksForWork = false;
    return whenReady(this.#parts.admission.admitModelWork(caller, ahead), (admitted) => {
      progress.figures = admitted.figures;
      if (admitted.refusal !== undefined) throw admitted.refusal;
    });
  }

  #validated(incoming: Incoming, caller: Caller, bytes: Uint8Array | undefined): RequestView {
    const { operation, exchange } = incoming;
    const params = operation.params === undefined ? incoming.params : validParams(operation, incoming.params);
    // A query that nobody reads is not looked at.
    const hasQuery = operation.query !== undefined || operation.unknownFields === 'refuse';
    const query = hasQuery ? validQuery(operation, parseQuery(exchange.head.query)) : {};
    const body =
      operation.body === undefined || bytes === undefined
        ? undefined
        : validBody(operation, bodyOf(operation, bytes, exchange.head));
    if (operation.bodyRules.form === 'raw')
      return new RequestView(incoming, caller, params, query, body, bytes ?? noBytes);
    // From here on only the parsed value is held, not its bytes.
    exchange.releaseBody();
    return new RequestView(incoming, caller, params, query, body, noBytes);
  }

  #reply(incoming: Incoming, progress: Running, answer: unknown): Ready<void> {
    const { operation, exchange } = incoming;
    if (answer instanceof SocketReply) return this.#socket(incoming, progress, answer);
    // A HEAD request gets no body to stream.
    if (answer instanceof StreamReply && exchange.head.method !== 'HEAD')
      return this.#stream(operation, exchange, progress, answer);
    const close = this.#parts.closing();
    if (answer instanceof StreamReply) {
      exchange.send(200, this.#head(exchange, progress, answer.contentType, answer.headers), '', close);
    } else if (answer instanceof RawReply) {
      if (answer.figures !== undefined) progress.figures = answer.figures;
      exchange.send(
        answer.status,
        this.#head(exchange, progress, answer.contentType, answer.headers),
        answer.body,
        close,
      );
    } else if (answer instanceof JsonReply) {
      const head = this.#head(exchange, progress, jsonType, answer.headers);
      exchange.send(answer.status, head, JSON.stringify(answer.body), close);
    } else {
      const head = this.#head(exchange, progress, jsonType, noHeaders);
      exchange.send(operation.status, head, JSON.stringify(answer), close);
    }
    this.#report(progress, {
      operation: operation.name,
      exchange,
      errorCode: undefined,
      spelledCode: undefined,
      failure: undefined,
    });
  }

  async #stream(
    operation: Operation,
    exchange: Exchange,
    progress: Running,
    answer: StreamReply,
  ): Promise<void> {
    // Its client opens the next stream at another node, which it does not reach over this connection.
    if (this.#parts.closing()) exchange.isLast = true;
    const writer = exchange.openStream(
      200,
      this.#head(exchange, progress, answer.contentType, answer.headers),
      answer.opening,
    );
    const cut = (refusal?: PlatformError): void =>
      exchange.cut(refusal === undefined ? '' : answer.refusal?.(refusal));
    const unfollow = this.#parts.streams.follow(progress.caller, { cut }, progress.mark);
    let failure: unknown;
    try {
      exchange.end((await answer.run(writer)) ?? '');
    } catch (error) {
      // The head is already sent: only a broken connection can tell the client that the stream is incomplete.
      failure = error;
      exchange.cut();
    } finally {
      unfollow();
    }
    this.#report(progress, {
      operation: operation.name,
      exchange,
      errorCode: failure === undefined ? undefined : 'internal_error',
      spelledCode: failure === undefined ? undefined : 'internal_error',
      failure,
    });
  }

  async #socket(
    { operation, exchange, handshake }: Incoming,
    progress: Running,
    answer: SocketReply,
  ): Promise<void> {
    if (handshake === undefined)
      throw new PlatformError('upgrade_required', {
        headers: { Connection: 'Upgrade', Upgrade: 'websocket' },
      });
    const socket = new OpenSocket(() => this.#parts.socketClosed(exchange.head));
    // A client that has left meanwhile opens no socket, but the handler is told like for any other.
    if (exchange.over) socket.closed();
    else exchange.upgrade(handshake, this.#head(exchange, progress, jsonType, noHeaders), socket);
    const unfollow = this.#parts.streams.follow(progress.caller, socket, progress.mark);
    this.#parts.sockets.add(socket);
    let failure: unknown;
    try {
      await answer.run(socket);
      socket.close(closeCodes.normal, '');
    } catch (error) {
      failure = error;
      socket.close(closeCodes.internalError, 'unexpected error');
    } finally {
      unfollow();
      this.#parts.sockets.delete(socket);
    }
    this.#report(progress, {
      operation: operation.name,
      exchange,
      errorCode: failure === undefined ? undefined : 'internal_error',
      spelledCode: failure === undefined ? undefined : 'internal_error',
      failure,
    });
  }

  #report({ span, caller }: Progress, result: Omit<RequestReport, 'caller'>): void {
    const { exchange, failure } = result;
    // Whatever the answer would have been, the client did not wait for it: that is no error of its request.
    const codes = exchange.wasLeft ? clientClosed : result;
    const report = { ...result, errorCode: codes.errorCode, spelledCode: codes.spelledCode, caller };
    span?.end({ status: exchange.status, errorCode: report.errorCode, failure });
    this.#parts.report(report);
  }

  /** Answers with an error, in the operation's dialect. */
  refuse(
    exchange: Exchange,
    operationName: string,
    dialect: Dialect,
    progress: Progress,
    thrown: unknown,
  ): void {
    const error =
      thrown instanceof PlatformError ? thrown : (this.#parts.refusalOf(thrown) ?? unexpected(thrown));
    exchange.send(
      error.status,
      this.#head(
        exchange,
        { ...progress, figures: figuresOfRefusal(error) ?? progress.figures },
        jsonType,
        headersOfRefusal(error),
      ),
      JSON.stringify(envelope(error, dialect, exchange.head.requestId)),
      this.#parts.closing(),
    );
    this.#report(progress, {
      operation: operationName,
      exchange,
      errorCode: error.code,
      spelledCode: spelled(error.code, dialect),
      failure: error === thrown ? undefined : thrown,
    });
  }

  #head(
    exchange: Exchange,
    progress: Progress,
    contentType: string,
    extra: Readonly<Record<string, string>>,
  ): ReplyHead {
    const { address, origin } = exchange.head;
    return {
      contentType,
      figures: progress.figures ?? this.#parts.admission.figuresOfAddress(address),
      extra,
      crossOrigin: origin === '' ? [] : this.#parts.crossOriginHeaders(origin, progress.caller),
    };
  }
}

export function readsBody({ method, body, bodyRules }: Operation): boolean {
  return method !== 'GET' && (body !== undefined || bodyRules.form !== 'json');
}

/** Tells a client whose credential was refused where it can get one. */
function challenged({ challenge }: Operation, error: unknown): unknown {
  if (challenge === undefined || !(error instanceof PlatformError) || error.status !== 401) return error;
  const { code, message, details, headers } = error;
  return PlatformError.again(code, {
    message,
    ...(details === undefined ? {} : { details }),
    headers: { ...headers, 'WWW-Authenticate': challenge() },
  });
}

const clientClosed = { errorCode: 'client_closed', spelledCode: 'client_closed' } as const;
const jsonType = 'application/json; charset=utf-8';
const noHeaders: Readonly<Record<string, string>> = Object.freeze({});
const noBytes = new Uint8Array(0);

function validParams(operation: Operation, params: unknown): unknown {
  const result = operation.params?.safeParse(params);
  if (result === undefined || result.success) return result?.data;
  // A malformed id cannot name an existing resource.
  throw new PlatformError(operation.absent);
}
