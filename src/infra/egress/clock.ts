import type { Dispatcher } from 'undici';
import { cancelled } from './connection.js';
import { EgressError } from './egress-error.js';
import { expiry } from './expiry.js';
import type { MayBegin } from './last-look.js';

/** These fields of a request. */
interface Bounds {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | readonly AbortSignal[];
  readonly mayBegin?: MayBegin;
}

/**
 * Combines the deadline and the caller's signals into one signal whose reason tells which one aborted, and knows whether
 * anything was written by then.
 */
export class Clock {
  readonly #controller = new AbortController();
  readonly #expiry: { cancel(): void };
  readonly #outer: readonly AbortSignal[];
  readonly #onAbort: () => void;
  readonly #mayBegin: MayBegin;
  #isWritten = false;

  constructor(host: string, { timeoutMs, signal = [], mayBegin = () => true }: Bounds) {
    this.#mayBegin = mayBegin;
    this.#expiry = expiry(timeoutMs, () => {
      const neverSent = !this.#isWritten;
      const missing = neverSent ? `There was no connection to ${host}` : `${host} did not answer`;
      const message = `${missing} within ${timeoutMs} ms.`;
      this.#controller.abort(new EgressError('timeout', message, { host, neverSent }));
    });
    this.#outer = signal instanceof AbortSignal ? [signal] : signal;
    this.#onAbort = () => {
      const { reason } = this.#outer.find(({ aborted }) => aborted) ?? {};
      this.#controller.abort(cancelled(host, reason, !this.#isWritten));
    };
    if (this.#outer.some(({ aborted }) => aborted)) this.#onAbort();
    for (const one of this.#outer) one.addEventListener('abort', this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** False: nothing has reached the other side. */
  get isWritten(): boolean {
    return this.#isWritten;
  }

  /** Asked right before the bytes of a request are written. */
  readonly mayWrite: MayBegin = () => {
    if (this.signal.aborted || !this.#mayBegin()) return false;
    this.#isWritten = true;
    return true;
  };

  /**
   * The answer, or the reason of the signal once it aborts. undici obeys a signal only after the request has its
   * connection; the name, TCP and TLS may take the connector's ten seconds before.
   */
  bound(answer: Promise<Dispatcher.ResponseData<unknown>>): Promise<Dispatcher.ResponseData<unknown>> {
    const { signal } = this;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason);
      const settled = (): void => signal.removeEventListener('abort', onAbort);
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
      answer.then(resolve, reject).then(settled, settled);
    });
  }

  stop(): void {
    this.#expiry.cancel();
    for (const one of this.#outer) one.removeEventListener('abort', this.#onAbort);
  }
}
