import type { ServerContext } from '@modelcontextprotocol/server';
import type { Time } from '../../cluster/index.js';

/** Between two reports of the growing text, so that a long answer is not sent over and over. */
const everyMs = 100;
/** The end of a long text is what is new. */
const charactersMax = 16_000;

/** Progress notifications of a tool, for a client that asked for them. */
export class ProgressReport {
  readonly #context: ServerContext;
  readonly #token: string | number | undefined;
  #sent = 0;
  #waiting: string | undefined;
  readonly #time: Time;
  #timer: { cancel(): void } | undefined;
  #sending: Promise<void> = Promise.resolve();

  constructor(context: ServerContext, time: Time) {
    this.#time = time;
    this.#context = context;
    this.#token = context.mcpReq._meta?.progressToken;
  }

  /** Sends the message, or a later one that replaces it. */
  tell(message: string): void {
    if (this.#token === undefined) return;
    this.#waiting = message;
    this.#timer ??= this.#time.after(this.#sent === 0 ? 0 : everyMs, () => this.#send());
  }

  /** Resolves when the last message has left, so that none follows the result. */
  async finished(): Promise<void> {
    this.#timer?.cancel();
    this.#send();
    await this.#sending;
  }

  #send(): void {
    this.#timer = undefined;
    const message = this.#waiting;
    const token = this.#token;
    this.#waiting = undefined;
    if (message === undefined || token === undefined) return;
    this.#sent += 1;
    const params = {
      progressToken: token,
      progress: this.#sent,
      message: message.length > charactersMax ? `…${message.slice(-charactersMax)}` : message,
    };
    this.#sending = this.#sending
      .then(() => this.#context.mcpReq.notify({ method: 'notifications/progress', params }))
      // The client has left; the request itself notices that.
      .catch(() => undefined);
  }
}
