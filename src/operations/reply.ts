/** A text or byte body under its own content type, where an answer is not the usual JSON. */
export class RawReply {
  readonly contentType: string;
  readonly body: string | Uint8Array;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    contentType: string,
    body: string | Uint8Array,
    options: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    this.contentType = contentType;
    this.body = body;
    this.status = options.status ?? 200;
    this.headers = options.headers ?? {};
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

/** An answer written bit by bit; it ends when `run` returns. An error of `run` cuts the connection. */
export class StreamReply {
  readonly contentType: string;
  readonly run: (writer: StreamWriter) => Promise<void>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    contentType: string,
    run: (writer: StreamWriter) => Promise<void>,
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.contentType = contentType;
    this.run = run;
    this.headers = headers;
  }
}

/** Server-sent events, in a form that proxies neither cache nor buffer nor compress. */
export function eventStream(
  run: (writer: StreamWriter) => Promise<void>,
  headers: Readonly<Record<string, string>> = {},
): StreamReply {
  return new StreamReply('text/event-stream; charset=utf-8', run, {
    'Cache-Control': 'no-cache, no-transform',
    'X-Accel-Buffering': 'no',
    ...headers,
  });
}
