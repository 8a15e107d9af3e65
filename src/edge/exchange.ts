import type { HttpResponse } from 'uWebSockets.js';
import { type LeaveSignal, Leaving } from '../context/leave-signal.js';
import { PlatformError } from '../errors.js';
import type { RateFigures, StreamWriter } from '../operations/index.js';
import type { Handshake, OpenSocket } from './sockets.js';

export type HeaderList = readonly (readonly [string, string])[];

/** What stands above the body of every answer. */
export interface ReplyHead {
  readonly contentType: string;
  readonly figures: RateFigures;
  readonly extra: Readonly<Record<string, string>>;
  readonly crossOrigin: HeaderList;
}

/** What of a request outlives the native objects, copied before anything is awaited. */
export interface RequestHead {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly address: string;
  readonly requestId: string;
  readonly origin: string;
  readonly contentType: string;
  readonly contentLength: number;
  readonly startedAt: number;
}

/**
 * One request and its answer over the native response, which may vanish at any moment: after an abort every call on
 * it would end the process, so all calls go through here.
 */
export class Exchange {
  readonly head: RequestHead;
  readonly #response: HttpResponse;
  readonly #onFinish: () => void;
  #controller: AbortController | undefined;
  #leaving: Leaving | undefined;
  #aborted = false;
  #finished = false;
  #held = false;
  #paused = false;
  #wake: (() => void) | undefined;
  #bodyFailed: ((error: PlatformError) => void) | undefined;
  status = 0;

  constructor(response: HttpResponse, head: RequestHead, onFinish: () => void) {
    this.#response = response;
    this.head = head;
    this.#onFinish = onFinish;
    response.onAborted(() => this.#abort());
  }

  /**
   * After 413 the rest of the body is still on its way. A client that is cut off while it sends may never see the
   * answer, so a body of known and bearable length is let in and dropped; only closing the connection stops another.
   */
  get restIsEndless(): boolean {
    const { contentLength } = this.head;
    return contentLength === 0 || contentLength > droppedBytesMax;
  }

  get over(): boolean {
    return this.#aborted || this.#finished;
  }

  /** Made only when somebody asks: most answers are done before a client could leave. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted) this.#controller.abort();
    return this.#controller.signal;
  }

  get leaving(): LeaveSignal {
    this.#leaving ??= new Leaving();
    if (this.#aborted) this.#leaving.leave();
    return this.#leaving;
  }

  #abort(): void {
    this.#aborted = true;
    this.#controller?.abort();
    this.#leaving?.leave();
    this.#bodyFailed?.(
      new PlatformError('validation_error', { message: 'The client left before its body was read.' }),
    );
    this.#wake?.();
    this.#finish();
  }

  #finish(): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#onFinish();
  }

  /**
   * The whole body, refused as soon as it is known to be too large. Must be called in the tick of the request: the
   * native side hands over the first bytes right after it.
   */
  readBody(maxBytes: number): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      if (this.head.contentLength > maxBytes) {
        reject(tooLarge(maxBytes));
        return;
      }
      this.#bodyFailed = reject;
      const parts: Buffer[] = [];
      let length = 0;
      this.#response.onData((chunk, isLast) => {
        length += chunk.byteLength;
        if (length > maxBytes) {
          parts.length = 0;
          reject(tooLarge(maxBytes));
          return;
        }
        // The native memory is gone after this call, so the bytes are copied.
        if (chunk.byteLength > 0) parts.push(Buffer.from(new Uint8Array(chunk)));
        if (this.#held && !isLast) this.#pauseBody();
        if (isLast)
          resolve(parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts, length));
      });
    });
  }

  /**
   * Holds back the body while a credential is looked up: of a stranger's bytes no more than the first are taken in. A
   * body that is there already is not paused for, since resuming begins the native side's idle time anew, which would
   * cut off every answer that takes ten seconds or more; the end of a body stops that time.
   */
  pause(): void {
    this.#held = true;
  }

  resume(): void {
    this.#held = false;
    if (!this.#paused) return;
    this.#paused = false;
    if (!this.over) this.#response.resume();
  }

  #pauseBody(): void {
    if (this.#paused || this.over) return;
    this.#paused = true;
    this.#response.pause();
  }

  send(status: number, head: ReplyHead, body: string | Uint8Array, close: boolean): void {
    if (this.over) return;
    this.status = status;
    this.#response.cork(() => {
      this.#writeHead(status, head);
      if (this.head.method === 'HEAD') this.#endHead(Buffer.byteLength(body), close);
      else this.#response.end(body, close);
    });
    this.#finish();
  }

  /** Of a body that is left out only its length is told. */
  #endHead(length: number, close: boolean): void {
    if (!close) this.#response.writeHeader('Content-Length', String(length));
    this.#endWithoutBody(length, close);
  }

  /**
   * With a length the native side waits for that many bytes, and breaks the connection off at the next request; of
   * `undefined` it makes a length of 2^63. So it is told nothing, unless it is to close the connection anyway.
   */
  #endWithoutBody(length: number, close: boolean): void {
    if (close) this.#response.endWithoutBody(length, true);
    else this.#response.endWithoutBody();
  }

  /** An answer of headers alone. */
  sendHeaders(status: number, figures: RateFigures, headers: HeaderList, close: boolean): void {
    if (this.over) return;
    this.status = status;
    this.#response.cork(() => {
      this.#response.writeStatus(statusLines[status] ?? String(status));
      this.#response.writeHeader('X-Request-Id', `${this.head.requestId}${rateLines(figures)}`);
      for (const [name, value] of headers) this.#response.writeHeader(name, value);
      this.#endWithoutBody(0, close);
    });
    this.#finish();
  }

  /** Begins a streamed answer; `end` must follow, or `cut`. */
  openStream(status: number, head: ReplyHead, opening: string): StreamWriter {
    this.status = status;
    if (!this.over) {
      this.#response.cork(() => {
        this.#writeHead(status, head);
        if (opening !== '') this.#response.write(opening);
      });
    }
    const response = this.#response;
    response.onWritable(() => {
      this.#wake?.();
      return true;
    });
    const gone = (): AbortSignal => this.signal;
    return {
      get gone() {
        return gone();
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
    };
  }

  /** Turns the connection into a WebSocket. From then on it is no exchange any more. */
  upgrade(handshake: Handshake, { figures, crossOrigin }: ReplyHead, socket: OpenSocket): void {
    this.status = 101;
    const response = this.#response;
    response.cork(() => {
      response.writeStatus('101 Switching Protocols');
      response.writeHeader('X-Request-Id', `${this.head.requestId}${rateLines(figures)}`);
      for (const [name, value] of crossOrigin) response.writeHeader(name, value);
      response.upgrade({ socket }, handshake.key, '', handshake.extensions, handshake.context);
    });
    this.#finish();
  }

  end(last: string): void {
    if (this.over) return;
    this.#response.cork(() => {
      if (last !== '') this.#response.write(last);
      this.#response.end();
    });
    this.#finish();
  }

  /** Breaks the connection off, so that the reader sees that the stream is not whole. */
  cut(): void {
    if (this.over) return;
    this.#response.close();
  }

  #writeHead(status: number, { contentType, figures, extra, crossOrigin }: ReplyHead): void {
    const response = this.#response;
    // 200 is what the native side writes when nothing else was said.
    if (status !== 200) response.writeStatus(statusLines[status] ?? String(status));
    // Each call into native code costs as much as ten joins of strings, so several lines go in one. Nothing that a
    // client sent is among these values but the request id, whose letters are checked.
    response.writeHeader(
      'Content-Type',
      `${contentType}\r\nX-Content-Type-Options: nosniff\r\nX-Request-Id: ${this.head.requestId}` +
        rateLines(figures),
    );
    for (const [name, value] of crossOrigin) response.writeHeader(name, value);
    for (const name in extra) response.writeHeader(name, extra[name] ?? '');
  }
}

function rateLines({ limit, remaining, reset }: RateFigures): string {
  return `\r\nX-RateLimit-Limit: ${limit}\r\nX-RateLimit-Remaining: ${remaining}\r\nX-RateLimit-Reset: ${reset}`;
}

const droppedBytesMax = 64 * 1024 * 1024;

function tooLarge(maxBytes: number): PlatformError {
  return new PlatformError('payload_too_large', { message: `The body is larger than ${maxBytes} bytes.` });
}

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
