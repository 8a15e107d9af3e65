import type { Time } from '../../cluster/index.js';
import type { UnsentFrames } from './unsent-frames.js';

/** A notification about the progress of the call with this token. */
export interface ProgressNotification {
  readonly method: 'notifications/progress';
  readonly params: {
    readonly progressToken: string | number;
    readonly progress: number;
    readonly message: string;
  };
}

/** Where progress is reported: the client's token, and what sends to the client. */
export interface ProgressListener {
  readonly token: string | number;
  readonly unsent: Pick<UnsentFrames, 'isBehind' | 'taken'>;
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
  readonly #time: Pick<Time, 'after'>;
  #timer: { cancel(): void } | undefined;
  #sending: Promise<void> = Promise.resolve();
  #isFinished = false;

  constructor(listener: ProgressListener | undefined, time: Pick<Time, 'after'>) {
    this.#time = time;
    this.#listener = listener;
  }

  /** Sends the message, or a later one that replaces it: none is made while the client has not taken the former. */
  update(message: string): void {
    const listener = this.#listener;
    if (listener === undefined) return;
    this.#waiting = message;
    this.#timer ??= this.#time.after(
      this.#sent === 0 ? 0 : everyMs,
      () => void this.#sendWhenTaken(listener),
    );
  }

  /** Resolves when the last message has left, so that none follows the result, which tells more than a late message. */
  async finished(): Promise<void> {
    this.#isFinished = true;
    this.#timer?.cancel();
    if (this.#listener?.unsent.isBehind === false) this.#send();
    await this.#sending;
  }

  async #sendWhenTaken({ unsent }: ProgressListener): Promise<void> {
    await unsent.taken();
    this.#timer = undefined;
    if (!this.#isFinished) this.#send();
  }

  #send(): void {
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
