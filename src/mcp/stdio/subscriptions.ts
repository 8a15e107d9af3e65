import type { Message } from './messages.js';
import { type Clock, pause } from './pause.js';
import type { Answer, Upstream } from './upstream.js';

/** The revision that carries subscriptions in the answer to a request. */
const revision = '2026-07-28';
const againMs = 1_000;

/**
 * Subscriptions of earlier revisions over a pipe: `resources/subscribe` becomes a stream of the present revision, which is
 * opened again when the server restarts.
 */
export class Subscriptions {
  readonly #upstream: Upstream;
  readonly #clock: Clock;
  readonly #onUpdate: (message: Message) => void;
  readonly #uris = new Set<string>();
  #stream: AbortController | undefined;
  #count = 0;

  constructor(upstream: Upstream, clock: Clock, onUpdate: (message: Message) => void) {
    this.#upstream = upstream;
    this.#clock = clock;
    this.#onUpdate = onUpdate;
  }

  /** The answer to a request about subscriptions; undefined for all others. */
  answer({ id, method, params }: Message): Answer | undefined {
    if (method !== 'resources/subscribe' && method !== 'resources/unsubscribe') return undefined;
    const uri = params?.['uri'];
    if (typeof uri === 'string') {
      if (method === 'resources/subscribe') this.#uris.add(uri);
      else this.#uris.delete(uri);
      this.#listenAnew();
    }
    return { jsonrpc: '2.0', id: id ?? null, result: {} };
  }

  /** The answer to `initialize`, with the capability to subscribe added. */
  offered(answer: Answer): Answer {
    const capabilities = answer.result?.['capabilities'] as Readonly<Record<string, unknown>> | undefined;
    if (answer.result === undefined || capabilities === undefined) return answer;
    const resources = { ...(capabilities['resources'] as object | undefined), subscribe: true };
    return { ...answer, result: { ...answer.result, capabilities: { ...capabilities, resources } } };
  }

  stop(): void {
    this.#stream?.abort();
  }

  /** A stream's addresses are fixed when it opens, so a changed set needs a new stream. */
  #listenAnew(): void {
    this.#stream?.abort();
    this.#stream = undefined;
    if (this.#uris.size === 0) return;
    this.#stream = new AbortController();
    void this.#listen(this.#stream.signal);
  }

  async #listen(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#count += 1;
      const request: Message = {
        jsonrpc: '2.0',
        id: `bridge-subscription-${this.#count}`,
        method: 'subscriptions/listen',
        params: {
          notifications: { resourceSubscriptions: [...this.#uris] },
          _meta: {
            'io.modelcontextprotocol/protocolVersion': revision,
            'io.modelcontextprotocol/clientInfo': { name: 'troupe-stdio', version: '1' },
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      };
      // A stream that breaks is opened again; what changed meanwhile the client sees with its next read.
      await this.#upstream.post(request, signal, (answer) => this.#pass(answer)).catch(() => undefined);
      if (!signal.aborted) await pause(this.#clock, againMs, signal);
    }
  }

  #pass(answer: Answer): void {
    if (answer.method !== 'notifications/resources/updated') return;
    this.#onUpdate({ jsonrpc: '2.0', method: answer.method, params: { uri: answer.params?.['uri'] } });
  }
}
