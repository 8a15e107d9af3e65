import { lineReader } from './lines.js';
import { isRequest, type Message, messageOf, protocolError } from './messages.js';
import type { Clock } from './pause.js';
import { Subscriptions } from './subscriptions.js';
import { type Answer, type UpstreamSettings, Upstream } from './upstream.js';

export interface BridgeParts {
  readonly upstream: UpstreamSettings;
  readonly clock: Clock;
  readonly input: AsyncIterable<Uint8Array>;
  /** Writes one line to the client; resolves when there is room for more. */
  readonly write: (line: string) => Promise<void>;
  readonly log: (line: string) => void;
}

/**
 * Passes messages from a client on stdin to the server over HTTP, and the answers back to stdout. Of the protocol's state
 * it keeps only the revision, so it continues when the server restarts or another node answers.
 */
export class StdioBridge {
  readonly #parts: BridgeParts;
  readonly #upstream: Upstream;
  readonly #subscriptions: Subscriptions;
  readonly #running = new Map<string, AbortController>();
  /** One line after the other, so that two answers never mix. */
  #writing: Promise<void> = Promise.resolve();

  constructor(parts: BridgeParts) {
    this.#parts = parts;
    this.#upstream = new Upstream(parts.upstream, parts.clock);
    this.#subscriptions = new Subscriptions(this.#upstream, parts.clock, (message) => this.#send(message));
  }

  /** Resolves when the client has closed its end; running requests end with it. */
  async run(): Promise<void> {
    try {
      for await (const line of lineReader(this.#parts.input)) this.#take(line);
    } finally {
      this.#subscriptions.stop();
      for (const controller of this.#running.values()) controller.abort();
      await this.#writing;
    }
  }

  #take(line: string): void {
    const message = messageOf(line);
    if (message === undefined) return this.#send(protocolError(null, -32_700, 'The line is not valid JSON.'));
    if (message.method === 'notifications/cancelled') return this.#cancel(message);
    const answer = this.#subscriptions.answer(message);
    if (answer !== undefined) return this.#send(answer);
    void this.#forward(message);
  }

  /** Closing the connection cancels the call; a notification would have to find the node that runs it. */
  #cancel({ params }: Message): void {
    this.#running.get(keyOf(params?.['requestId']))?.abort();
  }

  async #forward(message: Message): Promise<void> {
    const controller = new AbortController();
    const key = keyOf(message.id);
    if (isRequest(message)) this.#running.set(key, controller);
    let isAnswered = !isRequest(message);
    try {
      await this.#upstream.post(message, controller.signal, (answer) => {
        isAnswered ||= answer.method === undefined && keyOf(answer.id) === key;
        this.#send(this.#adapted(message, answer));
      });
      // A stream may end without the answer, when its node stops.
      if (!isAnswered) throw new Error('The server ended the connection before it answered. Call again.');
    } catch (error) {
      // A client that cancelled expects no answer.
      if (controller.signal.aborted || !isRequest(message)) return;
      const reason = error instanceof Error ? error.message : String(error);
      this.#parts.log(`${message.method ?? 'a message'}: ${reason}`);
      this.#send(protocolError(message.id ?? null, -32_603, reason));
    } finally {
      if (this.#running.get(key) === controller) this.#running.delete(key);
    }
  }

  /** Over HTTP an earlier revision has no way to subscribe; over a pipe this bridge serves it. */
  #adapted(request: Message, answer: Answer): Answer {
    if (request.method !== 'initialize') return answer;
    this.#upstream.noteRevision(answer);
    return this.#subscriptions.offered(answer);
  }

  #send(message: Answer): void {
    const line = `${JSON.stringify(message)}\n`;
    this.#writing = this.#writing.then(() => this.#parts.write(line));
  }
}

function keyOf(id: unknown): string {
  return JSON.stringify(id ?? null);
}
