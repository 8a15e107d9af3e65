import type { HttpResponse } from 'uWebSockets.js';
import type { Time } from '../../../cluster/index.js';
import type { ByteBudget } from '../../kernel/byte-budget.js';
import { type LeaveSignal, LeaveController } from '../../kernel/leave-signal.js';
import { errorKinds, PlatformError } from '../../kernel/errors.js';
import { type BodyRules, closedHere, type RateFigures, type StreamWriter } from '../operations/index.js';
import { addressGroup } from '../../kernel/address.js';
import { IncomingBody } from './incoming-body.js';
import { isLarge, sendLarge } from './large-answer.js';
import { linger, restOf } from './lingering.js';
import type { Handshake, OpenSocket } from './sockets.js';
import { endStream } from './stream-end.js';

export type HeaderList = readonly (readonly [string, string])[];

/** The headers of an answer. */
export interface ReplyHead {
  readonly contentType: string;
  readonly figures: RateFigures;
  readonly extra: Readonly<Record<string, string>>;
  readonly crossOrigin: HeaderList;
}

/** The data of a request that outlives the native objects; copied before the first await. */
export interface RequestHead {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly address: string;
  /** The 4 or 16 bytes of the connection's remote address, which is the client's or a proxy's. */
  readonly native: ArrayBuffer;
  readonly requestId: string;
  readonly origin: string;
  readonly contentType: string;
  /** Empty unless the client speaks Anthropic's API. */
  readonly anthropicVersion: string;
  /** 0 if the request declares none. */
  readonly contentLength: number;
  readonly isChunked: boolean;
  readonly startedAt: number;
}

export interface ExchangeParts {
  readonly time: Time;
  /** Large answers that their clients have not taken yet. */
  readonly unsentAnswers: ByteBudget;
  /** True once the node closes every connection that is left. */
  readonly closesAll: () => boolean;
}

/**
 * One request and its answer over the native response. After an abort, any call on the native response would end the
 * process, so all calls go through this class.
 */
export class Exchange {
  readonly head: RequestHead;
  readonly #response: HttpResponse;
  readonly #onFinish: (exchange: Exchange) => void;
  #controller: AbortController | undefined;
  #leaving: LeaveController | undefined;
  #aborted = false;
  #isCut = false;
  #finished = false;
  #held = false;
  #paused = false;
  #wake: (() => void) | undefined;
  readonly #closesAll: () => boolean;
  readonly #time: Time;
  readonly #unsentAnswers: ByteBudget;
  #body: IncomingBody | undefined;
  #stopSending: (() => void) | undefined;
  /** The answer has started, while the rest of a refused body or the client is still being waited for. */
  #answered = false;
  /** True if the connection takes no further request: the bytes after this one cannot be trusted to be a request. */
  isLast: boolean;
  status = 0;

  constructor(
    response: HttpResponse,
    head: RequestHead,
    onFinish: (exchange: Exchange) => void,
    { time, unsentAnswers, closesAll }: ExchangeParts,
  ) {
    this.#closesAll = closesAll;
    this.#time = time;
    this.#unsentAnswers = unsentAnswers;
    this.#response = response;
    this.head = head;
    this.#onFinish = onFinish;
    this.isLast = head.isChunked;
    response.onAborted(() => this.#abort());
  }

  /** True if the connection ended before the answer was complete. */
  get wasAborted(): boolean {
    return this.#aborted;
  }

  /** True if the client left before its answer began. */
  get wasLeft(): boolean {
    return this.status === clientClosedStatus;
  }

  get over(): boolean {
    return this.#aborted || this.#answered || this.#finished;
  }

  /** Created on first use: most answers are complete before a client could leave. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  get leaving(): LeaveSignal {
    this.#leaving ??= new LeaveController();
    if (this.#aborted) this.#leaving.leave();
    return this.#leaving;
  }

  /** Undefined, for the usual one, if the client left. */
  get #reason(): unknown {
    return this.#isCut || this.#closesAll() ? closedHere : undefined;
  }

  #abort(): void {
    this.#aborted = true;
    if (this.status === 0) this.status = clientClosedStatus;
    this.#controller?.abort(this.#reason);
    this.#leaving?.leave();
    this.#body?.fail(new PlatformError('client_closed'));
    this.#wake?.();
    this.#stopSending?.();
    this.#finish();
  }

  #finish(): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#body?.drop();
    this.#onFinish(this);
  }

  /**
   * Reads the whole body; rejects as soon as there is a reason. Must be called in the tick of the request: the native side
   * delivers the first bytes right after it.
   */
  readBody(rules: BodyRules, budget: ByteBudget): Promise<Uint8Array> {
    const { contentLength, isChunked, address } = this.head;
    const client = addressGroup(address);
    const body = new IncomingBody({ rules, contentLength, isChunked, budget, client, time: this.#time });
    this.#body = body;
    this.#response.onData((chunk, isLast) => {
      body.take(chunk, isLast);
      if (this.#held && !isLast) this.#pauseBody();
    });
    return body.bytes;
  }

  /** The handler has the parsed value; the bytes are no longer needed. */
  releaseBody(): void {
    this.#body?.drop();
  }

  /**
   * Holds back the body while a credential is looked up, so that only the first bytes of an unauthenticated client are
   * read. A complete body is not paused for: resuming restarts the native idle time, which would cut off every answer that
   * takes ten seconds or more; the end of a body stops that time.
   */
  pause(): void {
    this.#held = true;
  }

  resume(): void {
    this.#held = false;
    if (!this.#paused) return;
    this.#paused = false;
    if (!this.#aborted && !this.#finished) this.#response.resume();
  }

  #pauseBody(): void {
    if (this.#paused || this.over) return;
    this.#paused = true;
    this.#response.pause();
  }

  send(status: number, head: ReplyHead, body: string | Uint8Array, close: boolean): void {
    if (this.over) return;
    this.status = status;
    const closes = close || this.isLast;
    if (this.#body !== undefined && !this.#body.hasEnded) {
      this.#body.drop();
      const rest = restOf(this.#body, status);
      if (rest === 'long' || closes) return this.#sendAndLinger(this.#body, status, head, body);
    }
    if (isLarge(body) && this.head.method !== 'HEAD') return this.#sendLarge(status, head, body, closes);
    this.#response.cork(() => {
      this.#writeHead(status, head);
      if (this.head.method === 'HEAD') this.#endHead(Buffer.byteLength(body), closes);
      else this.#response.end(body, closes);
    });
    this.#finish();
  }

  /** Answers a request whose body is still arriving, and closes the connection once the client can have read the answer. */
  #sendAndLinger(rest: IncomingBody, status: number, head: ReplyHead, body: string | Uint8Array): void {
    this.#answered = true;
    this.resume();
    this.#stopSending = linger(
      this.#response,
      {
        body: typeof body === 'string' ? Buffer.from(body) : Buffer.from(body),
        rest,
        isChunked: this.head.isChunked,
        time: this.#time,
      },
      () => {
        this.#writeHead(status, head);
        this.#response.writeHeader('Connection', 'close');
      },
      () => this.#finish(),
    );
  }

  #sendLarge(status: number, head: ReplyHead, body: string | Uint8Array, closes: boolean): void {
    this.#answered = true;
    const answer = {
      body:
        typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.length),
      budget: this.#unsentAnswers,
      client: addressGroup(this.head.address),
      isLast: closes,
    };
    this.#stopSending = sendLarge(
      this.#response,
      answer,
      () => this.#writeHead(status, head),
      () => this.#finish(),
    );
  }

  /**
   * Sends only the length of the omitted body. If it were passed to the native side, that would wait for so many bytes,
   * keep the connection, and break it at the next request.
   */
  #endHead(length: number, close: boolean): void {
    this.#response.writeHeader('Content-Length', String(length));
    if (close) {
      this.#response.writeHeader('Connection', 'close');
      this.#response.pause();
    }
    this.#response.endWithoutBody();
  }

  /** Sends an answer that has only headers. */
  sendHeaders(status: number, figures: RateFigures, headers: HeaderList, close: boolean): void {
    if (this.over) return;
    this.status = status;
    this.#response.cork(() => {
      this.#response.writeStatus(statusLines[status] ?? String(status));
      this.#response.writeHeader('X-Request-Id', `${this.head.requestId}${rateLines(figures)}`);
      for (const [name, value] of headers) this.#response.writeHeader(name, value);
      if (close || this.isLast) this.#response.endWithoutBody(0, true);
      // `undefined` would become a length of 2^63.
      else this.#response.endWithoutBody();
    });
    this.#finish();
  }

  /** Starts a streamed answer; `end` or `cut` must follow. */
  openStream(status: number, head: ReplyHead, opening: string): StreamWriter {
    const response = this.#response;
    // The client may have left while the answer was made. The native response refuses every call then; the writer is
    // made all the same, so that its user learns of it and ends.
    if (!this.over) {
      this.status = status;
      response.cork(() => {
        this.#writeHead(status, head);
        if (this.isLast) response.writeHeader('Connection', 'close');
        if (opening !== '') response.write(opening);
      });
      response.onWritable(() => {
        // With a listener, the native side leaves it to the writer to flush its buffer. The writer may be idle for a long
        // time, so this cork flushes it, and starts the idle time while some of the buffer is left.
        response.cork(() => undefined);
        this.#wake?.();
        return true;
      });
    }
    const goneSignal = (): AbortSignal => this.signal;
    return {
      get gone() {
        return goneSignal();
      },
      write: (chunk) => {
        if (this.over) return true;
        let roomy = true;
        response.cork(() => {
          roomy = response.write(chunk);
        });
        return roomy;
      },
      drained: () =>
        new Promise((resolve) => {
          if (this.over) return resolve();
          this.#wake = () => {
            this.#wake = undefined;
            resolve();
          };
        }),
      cut: () => this.cut(),
    };
  }

  /** Turns the connection into a WebSocket; the exchange ends. */
  upgrade(handshake: Handshake, { figures, crossOrigin }: ReplyHead, socket: OpenSocket): void {
    this.status = 101;
    const response = this.#response;
    response.cork(() => {
      response.writeStatus('101 Switching Protocols');
      response.writeHeader('X-Request-Id', `${this.head.requestId}${rateLines(figures)}`);
      for (const [name, value] of crossOrigin) response.writeHeader(name, value);
    });
    // Outside of the cork: at its end the native side looks at the state of the response. If the WebSocket has taken its
    // place in memory, that state is arbitrary, and the native side may close the new WebSocket.
    response.upgrade({ socket }, handshake.key, '', handshake.extensions, handshake.context);
    this.#finish();
  }

  end(last: string): void {
    if (this.over) return;
    this.#answered = true;
    const stop = endStream(this.#response, { text: last, isLast: this.isLast }, () => this.#finish());
    this.#stopSending = stop;
  }

  /** Closes the connection after a last event, if there is one; the reader sees that the stream is incomplete. */
  cut(last = ''): void {
    if (this.over) return;
    if (last !== '') this.#response.cork(() => this.#response.write(last));
    this.#isCut = true;
    this.#response.close();
  }

  #writeHead(status: number, { contentType, figures, extra, crossOrigin }: ReplyHead): void {
    const response = this.#response;
    // The native side writes 200 by default.
    if (status !== 200) response.writeStatus(statusLines[status] ?? String(status));
    // Each call into native code costs as much as ten string joins, so one call writes several lines. The only value among
    // them that a client sent is the request id, whose characters are checked.
    response.writeHeader(
      'Content-Type',
      `${contentType}\r\nX-Content-Type-Options: nosniff\r\nX-Request-Id: ${this.head.requestId}` +
        rateLines(figures),
    );
    // Anthropic's clients read the id from this header.
    if (this.head.anthropicVersion !== '') response.writeHeader('Request-Id', this.head.requestId);
    for (const [name, value] of crossOrigin) response.writeHeader(name, value);
    for (const name in extra) response.writeHeader(name, extra[name] ?? '');
  }
}

function rateLines({ limit, remaining, reset }: RateFigures): string {
  return `\r\nX-RateLimit-Limit: ${limit}\r\nX-RateLimit-Remaining: ${remaining}\r\nX-RateLimit-Reset: ${reset}`;
}

/** For logs and metrics: no client receives it. */
const clientClosedStatus = errorKinds.client_closed.status;

const statusLines: Readonly<Record<number, string>> = {
  200: '200 OK',
  201: '201 Created',
  202: '202 Accepted',
  204: '204 No Content',
  304: '304 Not Modified',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  409: '409 Conflict',
  413: '413 Content Too Large',
  415: '415 Unsupported Media Type',
  422: '422 Unprocessable Content',
  426: '426 Upgrade Required',
  429: '429 Too Many Requests',
  500: '500 Internal Server Error',
  502: '502 Bad Gateway',
  503: '503 Service Unavailable',
  504: '504 Gateway Timeout',
};
