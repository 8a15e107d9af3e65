// A real local server that speaks a vendor's protocol, follows a script of faults, and keeps its own bill.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface Script {
  /** A refusal by status, in the vendor's own form. */
  readonly status?: number;
  readonly message?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is, with status 200. */
  readonly garbage?: string;
  readonly thinking?: readonly string[];
  readonly pieces?: readonly string[];
  readonly toolCalls?: readonly {
    readonly id: string;
    readonly name: string;
    readonly args: readonly string[];
  }[];
  /** An error as ordinary data of the stream, after so many pieces. */
  readonly failAfter?: number;
  /** The connection breaks after so many pieces. */
  readonly cutAfter?: number;
  /** Silence after so many pieces. */
  readonly hangAfter?: number;
  /** Vectors that are missing at the end of a reply. */
  readonly missingVectors?: number;
  /** Silence with pings: the connection is alive, the answer is not. */
  readonly pingsWhileHanging?: boolean;
  readonly hangBeforeHeaders?: boolean;
  /** Silence until then, and then the answer. */
  readonly until?: Promise<unknown>;
  /** Silence after so many pieces until then, and then the others. */
  readonly pause?: { readonly after: number; readonly until: Promise<unknown> };
  /** The input was read before the silence, and is billed. */
  readonly billsWhileHanging?: boolean;
  readonly pieceDelayMs?: number;
  readonly omitTerminator?: boolean;
  /** The terminator is sent and the connection stays open. */
  readonly staysOpen?: boolean;
}

type Frame = string | Uint8Array;

export interface Frames {
  readonly start: readonly Frame[];
  readonly pieces: readonly Frame[];
  readonly end: readonly Frame[];
  readonly terminator: Frame;
  readonly error: Frame;
  readonly ping: Frame;
}

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  /** The body as it was sent. */
  readonly text: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Readonly<Record<string, unknown>>;
  readonly key: string | undefined;
  readonly atMs: number;
  /** When the client closed the connection before the answer was whole. */
  leftAtMs: number | undefined;
  billed: { input: number; output: number };
}

/** What these requests cost together. */
export function billOf(requests: readonly SeenRequest[]) {
  const total = { attempts: requests.length, input: 0, output: 0 };
  for (const { billed } of requests) {
    total.input += billed.input;
    total.output += billed.output;
  }
  return total;
}

export abstract class VendorServer {
  readonly requests: SeenRequest[] = [];
  /** Accepted keys; any where none is given. */
  readonly keys = new Set<string>();
  readonly #scripts: Script[] = [];
  readonly #server: Server;
  #byDefault: Script = { pieces: ['Hello', ' world'] };
  /** Chooses by the request itself, for tests without a defined order of requests. */
  decide: ((seen: SeenRequest) => Script | undefined) | undefined;

  constructor() {
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        response.destroy(error instanceof Error ? error : new Error(String(error)));
      });
    });
  }

  abstract frames(script: Script, seen: SeenRequest): Frames;
  abstract whole(script: Script, seen: SeenRequest): unknown;
  abstract errorBody(status: number, message: string): unknown;
  errorHeaders(_status: number): Readonly<Record<string, string>> {
    return {};
  }
  abstract keyOf(request: IncomingMessage): string | undefined;
  abstract isStream(seen: SeenRequest): boolean;
  /** An error in place of an answer costs the usage reported so far: with most vendors nothing. */
  billedAtStart(_seen: SeenRequest): SeenRequest['billed'] {
    return { input: 0, output: 0 };
  }

  /** The type of a streamed answer. */
  readonly streamType: string = 'text/event-stream';

  /** The refusal of a request without a right to this server. */
  refusalOf({ key }: SeenRequest): Script | undefined {
    if (this.keys.size === 0 || (key !== undefined && this.keys.has(key))) return undefined;
    return { status: 401, message: `Incorrect API key provided: ${key ?? 'none'}.` };
  }

  /** The base address in the format of the vendor's own SDK. */
  abstract get baseUrl(): string;

  /** Follows these, one a request, then the default. */
  script(...scripts: readonly Script[]): void {
    this.#scripts.push(...scripts);
  }

  /** As if it had just started. */
  forget(): void {
    this.requests.length = 0;
    this.keys.clear();
    this.clearScripts();
    this.byDefault({ pieces: ['Hello', ' world'] });
    this.decide = undefined;
  }

  /** Drops the scripts that no request has used yet. */
  clearScripts(): void {
    this.#scripts.length = 0;
  }

  byDefault(script: Script): void {
    this.#byDefault = script;
  }

  get origin(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  get billed(): { input: number; output: number } {
    const { input, output } = billOf(this.requests);
    return { input, output };
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const seen = await this.#read(request);
    this.requests.push(seen);
    response.on('close', () => {
      if (!response.writableFinished) seen.leftAtMs = performance.now();
    });
    const script: Script =
      this.refusalOf(seen) ?? this.decide?.(seen) ?? this.#scripts.shift() ?? this.#byDefault;
    if (script.hangBeforeHeaders === true) {
      if (script.billsWhileHanging === true) seen.billed.input = promptTokens(seen);
      return;
    }
    await script.until;
    if (script.status !== undefined) {
      response.writeHead(script.status, {
        'content-type': 'application/json',
        ...this.errorHeaders(script.status),
        ...script.headers,
      });
      response.end(JSON.stringify(this.errorBody(script.status, script.message ?? 'scripted refusal')));
      return;
    }
    const contentType = this.isStream(seen) ? this.streamType : 'application/json';
    response.writeHead(200, { 'content-type': contentType, 'x-request-id': 'req_test', ...script.headers });
    if (script.garbage !== undefined) {
      response.end(script.garbage);
      return;
    }
    seen.billed.input = promptTokens(seen);
    if (this.isStream(seen)) await this.#stream(script, seen, response);
    else {
      seen.billed.output = isEmbedding(seen) ? 0 : answerTokens(script);
      response.end(JSON.stringify(this.whole(script, seen)));
    }
  }

  async #stream(script: Script, seen: SeenRequest, response: ServerResponse): Promise<void> {
    const frames = this.frames(script, seen);
    for (const frame of frames.start) response.write(frame);
    for (let sent = 0; ; sent += 1) {
      if (script.cutAfter === sent) {
        await flushed(response);
        response.destroy();
        return;
      }
      if (script.failAfter === sent) {
        if (sent === 0) seen.billed = this.billedAtStart(seen);
        response.end(frames.error);
        return;
      }
      if (script.hangAfter === sent) {
        while (script.pingsWhileHanging === true && !response.closed) {
          response.write(frames.ping);
          await delay(20);
        }
        return;
      }
      if (script.pause?.after === sent) await script.pause.until;
      const piece = frames.pieces[sent];
      if (piece === undefined) break;
      if (script.pieceDelayMs !== undefined) await delay(script.pieceDelayMs);
      if (response.closed) return;
      response.write(piece);
      seen.billed.output += 1;
    }
    for (const frame of frames.end) response.write(frame);
    if (script.omitTerminator !== true) response.write(frames.terminator);
    if (script.staysOpen !== true) response.end();
  }

  async #read(request: IncomingMessage): Promise<SeenRequest> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('utf8');
    const body: unknown = text === '' ? {} : JSON.parse(text);
    return {
      method: request.method ?? '',
      path: request.url ?? '',
      text,
      headers: request.headers,
      body: isObject(body) ? body : {},
      key: this.keyOf(request),
      atMs: performance.now(),
      leftAtMs: undefined,
      billed: { input: 0, output: 0 },
    };
  }
}

/** So that data written before a break has left this process. */
function flushed(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    response.write('', () => setImmediate(resolve));
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A token of these servers is a word of the prompt … */
export function promptTokens(seen: SeenRequest): number {
  const texts: string[] = [];
  const walk = (value: unknown): void => {
    if (typeof value === 'string' || typeof value === 'number') texts.push(String(value));
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(walk);
  };
  const { body } = seen;
  const requests: unknown = body['requests'];
  const contents = Array.isArray(requests) ? requests.map((one: { content?: unknown }) => one.content) : [];
  walk([
    body['messages'],
    body['system'],
    body['contents'],
    body['systemInstruction'],
    body['input'],
    body['instances'],
    contents,
  ]);
  return texts.join(' ').split(/\s+/).filter(Boolean).length;
}

/** A call for vectors: nothing is billed but its input. */
export function isEmbedding({ path }: SeenRequest): boolean {
  return /embed/i.test(path);
}

/** … and a piece of the answer. */
export function answerTokens(script: Script): number {
  const args = (script.toolCalls ?? []).reduce((sum, call) => sum + call.args.length, 0);
  return (script.thinking?.length ?? 0) + (script.pieces?.length ?? 0) + args;
}

export function sse(data: unknown, event?: string): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`;
}

export function bearer(request: IncomingMessage): string | undefined {
  return request.headers.authorization?.replace(/^Bearer /, '');
}
