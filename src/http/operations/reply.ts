import type { PlatformError } from '../../kernel/errors.js';
import type { RateFigures } from './rate-figures.js';

/**
 * Restricts an answer that a browser is made to open as a document: no scripts, no forms, and an opaque origin, so that
 * it cannot reach the API. Pages of the platform set their own policy.
 */
const sandboxed: Readonly<Record<string, string>> = Object.freeze({ 'Content-Security-Policy': 'sandbox' });

/** A text or byte body with its own content type, instead of JSON. */
export class RawReply {
  readonly contentType: string;
  readonly body: string | Uint8Array;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The figures of the window in which the handler itself counted the request. */
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

/**
 * The reason of `gone` if this node closed the connection, as when a credential ends, nobody knows which did, or the node
 * stops. The reader did not leave, and may come back with its last event id.
 */
export const closedHere = new DOMException('This node closed the connection.', 'AbortError');

/** The writer of a streamed answer; the edge implements it over a socket. */
export interface StreamWriter {
  /** Returns false if the socket's buffer is full: wait for `drained` before the next write. */
  write(chunk: string | Uint8Array): boolean;
  /** Resolves when the buffer has room again, and also when the reader has disconnected. */
  drained(): Promise<void>;
  /** Closes the connection and drops what its buffer holds: nothing of that may reach the reader any more. */
  cut?(): void;
  /** The stream ends with an error of its own form, so it is no answer to keep. */
  failed?(): void;
  /** Aborts when the reader disconnects; the reason is `closedHere` if this node closed the connection. */
  readonly gone: AbortSignal;
}

/** Writes a streamed answer. The returned text is written together with the end. */
export type StreamRun = (writer: StreamWriter) => Promise<string | void>;

export type StreamRefusal = (error: PlatformError) => string;

/**
 * An answer written in pieces; it ends when `run` returns. An error of `run` cuts the connection. For a HEAD request `run`
 * is not called, so what has to be ended begins in it and not before.
 */
export class StreamReply {
  readonly contentType: string;
  readonly run: StreamRun;
  readonly headers: Readonly<Record<string, string>>;
  /** The first bytes, sent in one write with the head. */
  readonly opening: string;
  /** The last event of a stream whose caller may not read on; undefined if the form has none. */
  readonly refusal: StreamRefusal | undefined;

  constructor(
    contentType: string,
    run: StreamRun,
    headers: Readonly<Record<string, string>> = {},
    opening = '',
    refusal?: StreamRefusal,
  ) {
    this.refusal = refusal;
    this.contentType = contentType;
    this.run = run;
    this.headers = { ...sandboxed, ...headers };
    this.opening = opening;
  }
}

/** One end of a WebSocket, as a handler sees it. Messages from clients are not read. */
export interface SocketWriter {
  /** Returns false if data is buffered: wait for `drained` before the next message. */
  send(text: string): boolean;
  /** Resolves when the buffer is empty again, and also when the client has disconnected. */
  drained(): Promise<void>;
  /** Subscribes the socket to messages published under the topic. */
  join(topic: string): void;
  close(code: number, reason: string): void;
  /** Aborts when the client disconnects. */
  readonly gone: AbortSignal;
}

/** An answer as a WebSocket; it closes when `run` returns. A request that did not ask for one gets an error. */
export class SocketReply {
  readonly run: (socket: SocketWriter) => Promise<void>;

  constructor(run: (socket: SocketWriter) => Promise<void>) {
    this.run = run;
  }
}

/**
 * The head of a streamed answer is sent with the first bytes of its body. A comment sends it at once, so that the client
 * of a quiet stream knows that it is connected; event readers ignore comments.
 */
const openingComment = ': open\n\n';

/** An error event without an id: the reader's place in the stream stays. */
function errorEvent({ code, message }: PlatformError): string {
  return `event: error\ndata: ${JSON.stringify({ type: 'error', code, message })}\n\n`;
}

/** Server-sent events with headers that stop proxies from caching, buffering and compressing. */
export function eventStream(
  run: StreamRun,
  headers: Readonly<Record<string, string>> = {},
  opening = openingComment,
  refusal: StreamRefusal = errorEvent,
): StreamReply {
  const all = { 'Cache-Control': 'no-cache, no-transform', 'X-Accel-Buffering': 'no', ...headers };
  return new StreamReply('text/event-stream; charset=utf-8', run, all, opening, refusal);
}
