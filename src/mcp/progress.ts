import type { Time } from '../../cluster/index.js';

/** A notification about the progress of the call with this token. */
export interface ProgressNotification {
  readonly method: 'notifications/progress';
  readonly params: {
    readonly progressToken: string | number;
    readonly progress: number;
    readonly message: string;
  };
}

/** Where progress is reported: the client's token, and the function that sends to the client. */
export interface ProgressListener {
  readonly token: string | number;
  notify(notification: ProgressNotification): Promise<void>;
}

/** The pause between two reports of the growing text: each report repeats the text before. */
const everyMs = 100;
/** Of a longer text only the end is sent, since the client has the beginning. */
const charactersMax = 16_000;

/** Progress notifications of a tool, for a client that asked for them. */
export class ProgressReport {
  readonly #listener: ProgressListener | undefined;
  #sent = 0;
  #waiting: string | undefined;
  readonly #time: Time;
  #timer: { cancel(): void } | undefined;
  #sending: Promise<void> = Promise.resolve();

  constructor(listener: ProgressListener | undefined, time: Time) {
    this.#time = time;
    this.#listener = listener;
  }

  /** Sends the message, or a later one that replaces it. */
  update(message: string): void {
    if (this.#listener === undefined) return;
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
    const listener = this.#listener;
    this.#waiting = undefined;
    if (message === undefined || listener === undefined) return;
    this.#sent += 1;
    const params = {
      progressToken: listener.token,
      progress: this.#sent,
      message: message.length > charactersMax ? `…${message.slice(-charactersMax)}` : message,
    };
    this.#sending = this.#sending
      .then(() => listener.notify({ method: 'notifications/progress', params }))
      // The client has left; its request ends on its own.
      .catch(() => undefined);
  }
}
