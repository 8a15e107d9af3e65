import { isRequest, type Message, messageOf } from './messages.js';
import { type Clock, pause } from './pause.js';

export type Answer = Message;

export interface UpstreamSettings {
  /** The address of the product, without `/mcp`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Headers that lower the role and shorten the list of tools. */
  readonly headers: Readonly<Record<string, string>>;
}

/** How long a request waits for a server that restarts. */
const unreachableMs = 30_000;
const retryMs = 500;
const protocolVersionKey = 'io.modelcontextprotocol/protocolVersion';

/** The server behind the bridge: sends one message per request, and reads its answers as they come. */
export class Upstream {
  readonly #settings: UpstreamSettings;
  readonly #clock: Clock;
  #revision: string | undefined;

  constructor(settings: UpstreamSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Later requests of an earlier revision name the one that was agreed on. */
  noteRevision({ result }: Answer): void {
    const version = result?.['protocolVersion'];
    if (typeof version === 'string') this.#revision = version;
  }

  /** Resolves when the server has answered completely. Rejects with a message for the client. */
  async post(message: Message, signal: AbortSignal, onAnswer: (answer: Answer) => void): Promise<void> {
    const response = await this.#reached(message, signal);
    if (response.status >= 300 && response.status < 400) throw new Error(this.#redirected(response));
    const contentType = response.headers.get('content-type') ?? '';
    if (contentType.startsWith('text/event-stream') && response.body !== null) {
      return readEvents(response.body, onAnswer);
    }
    const text = await response.text();
    if (text === '') return;
    const answer = messageOf(text);
    if (answer?.jsonrpc === '2.0') return onAnswer(answer);
    if (isRequest(message)) throw new Error(refusalIn(text, response.status));
  }

  /** A server that cannot be reached has not seen the request, so it is sent again. */
  async #reached(message: Message, signal: AbortSignal): Promise<Response> {
    const until = this.#clock.monotonicMs() + unreachableMs;
    for (;;) {
      try {
        return await fetch(`${this.#settings.baseUrl}/mcp`, {
          method: 'POST',
          headers: this.#headers(message),
          body: JSON.stringify(message),
          signal,
          // `fetch` would send the key on to the address that a redirect names.
          redirect: 'manual',
        });
      } catch (cause) {
        if (signal.aborted) throw cause;
        if (!wasNeverSent(cause)) {
          throw new Error('The connection to the server broke before it answered. Call again.', { cause });
        }
        if (this.#clock.monotonicMs() >= until) {
          throw new Error(`The server at ${this.#settings.baseUrl} cannot be reached.`, { cause });
        }
        await pause(this.#clock, retryMs, signal);
      }
    }
  }

  #redirected({ headers }: Response): string {
    const { baseUrl } = this.#settings;
    const location = headers.get('location') ?? 'no address';
    return `The server at ${baseUrl} redirects to ${location}, and the key is sent to no other address. Set TROUPE_BASE_URL to the one that answers.`;
  }

  #headers({ method, params }: Message): Record<string, string> {
    const meta = params?.['_meta'] as Readonly<Record<string, unknown>> | undefined;
    const revision = meta?.[protocolVersionKey] ?? (method === 'initialize' ? undefined : this.#revision);
    const name = params?.['name'] ?? params?.['uri'];
    return {
      ...this.#settings.headers,
      'x-api-key': this.#settings.apiKey,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(typeof revision === 'string' ? { 'mcp-protocol-version': revision } : {}),
      ...(method === undefined ? {} : { 'mcp-method': method }),
      ...(typeof name === 'string' ? { 'mcp-name': headerText(name) } : {}),
    };
  }
}

/** Headers hold ASCII only, so the protocol encodes other texts. */
function headerText(text: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?')) return text;
  return `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

function wasNeverSent(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = typeof cause === 'object' && cause !== null ? Reflect.get(cause, 'code') : undefined;
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EHOSTUNREACH';
}

/** The general envelope of the product, or its status where an answer has none. */
function refusalIn(text: string, status: number): string {
  const body: object | undefined = messageOf(text);
  const reason: unknown = body === undefined ? undefined : Reflect.get(body, 'message');
  return typeof reason === 'string' ? reason : `The server answered with status ${status}.`;
}

async function readEvents(
  body: ReadableStream<Uint8Array>,
  onAnswer: (answer: Answer) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const events = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n\r?\n/);
    rest = events.pop() ?? '';
    for (const event of events) {
      const data = event
        .split(/\r?\n/)
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trimStart())
        .join('\n');
      const answer = data === '' ? undefined : messageOf(data);
      if (answer !== undefined) onAnswer(answer);
    }
  }
}
