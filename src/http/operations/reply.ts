import type { RateFigures } from './rate-figures.js';

/**
 * What a browser does with an answer that it is made to open as a document: run no script, send no form, and treat it as
 * of no origin, so that it reaches nothing of the API. Pages of the platform's own name another policy.
 */
const sandboxed: Readonly<Record<string, string>> = Object.freeze({ 'Content-Security-Policy': 'sandbox' });

/** A text or byte body under its own content type, where an answer is not the usual JSON. */
export class RawReply {
  readonly contentType: string;
  readonly body: string | Uint8Array;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Of the window that the handler itself counted in, where only it could know which one that is. */
  readonly figures: RateFigures | undefined;

  constructor(
    contentType: string,
    body: string | Uint8Array,
    options: {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly figures?: RateFigures | undefined;
    } = {},
  ) {
    this.contentType = contentType;
    this.body = body;
    this.status = options.status ?? 200;
    this.headers = options.headers === undefined ? sandboxed : { ...sandboxed, ...options.headers };
    this.figures = options.figures;
  }
}

/** A JSON body whose status or headers differ from what the operation declares. */
export class JsonReply<Body> {
  readonly body: Body;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(body: Body, status: number, headers: Readonly<Record<string, string>> = {}) {
    this.body = body;
    this.status = status;
    this.headers = headers;
  }
}

/** Where a streamed answer is written. The edge implements it over a socket. */
export interface StreamWriter {
  /** False: the socket's buffer is full, wait for `drained` before the next write. */
  write(chunk: string | Uint8Array): boolean;
  /** Resolves when the buffer has room again, and also when the reader is gone. */
  drained(): Promise<void>;
  /** Aborts when the reader is gone. */
  readonly gone: AbortSignal;
}

/** Writes a streamed answer. What it gives is written with the end. */
export type StreamRun = (writer: StreamWriter) => Promise<string | void>;

/** An answer written bit by bit; it ends when `run` returns. An error of `run` cuts the connection. */
export class StreamReply {
  readonly contentType: string;
  readonly run: StreamRun;
  readonly headers: Readonly<Record<string, string>>;
  /** What is there already leaves in one write with the head. */
  readonly opening: string;

  constructor(
    contentType: string,
    run: StreamRun,
    headers: Readonly<Record<string, string>> = {},
    opening = '',
  ) {
    this.contentType = contentType;
    this.run = run;
    this.headers = { ...sandboxed, ...headers };
    this.opening = opening;
  }
}

/** One end of a WebSocket, as a handler sees it. What clients send is not read. */
export interface SocketWriter {
  /** False: the socket's buffer has grown, wait for `drained` before the next one. */
  send(text: string): boolean;
  /** Resolves when the buffer is empty again, and also when the other side is gone. */
  drained(): Promise<void>;
  /** From here on the socket gets what is published under the topic. */
  join(topic: string): void;
  close(code: number, reason: string): void;
  /** Aborts when the other side is gone. */
  readonly gone: AbortSignal;
}

/** An answer as a WebSocket; it closes when `run` returns. To a request that did not ask for one it is a refusal. */
export class SocketReply {
  readonly run: (socket: SocketWriter) => Promise<void>;

  constructor(run: (socket: SocketWriter) => Promise<void>) {
    this.run = run;
  }
}

/**
 * The head of a streamed answer leaves with the first bytes of its body. A comment makes it leave at once, so that the
 * client of a quiet stream knows that it is connected; readers of events skip it.
 */
const openingComment = ': open\n\n';

/** Server-sent events, in a form that proxies neither cache nor buffer nor compress. */
export function eventStream(
  run: StreamRun,
  headers: Readonly<Record<string, string>> = {},
  opening = openingComment,
): StreamReply {
  const all = { 'Cache-Control': 'no-cache, no-transform', 'X-Accel-Buffering': 'no', ...headers };
  return new StreamReply('text/event-stream; charset=utf-8', run, all, opening);
}
