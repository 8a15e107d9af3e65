/**
 * Time and chance as values that are handed in. Only `cluster/time/` touches the global clock, timers and
 * randomness, so that a whole cluster can run on a clock that a test moves.
 */
export interface Time {
  /** Milliseconds that only rise; may stand still while the machine is paused. */
  monotonicMs(): number;
  /** Milliseconds since 1970; runs on through a pause, but may be set back or forth. */
  wallMs(): number;
  /** Runs `action` once, not before `delayMs` has passed. */
  after(delayMs: number, action: () => void): Timer;
  /** Runs `action` once what the event loop holds now is done; everything asked for in between is a batch. */
  soon(action: () => void): void;
}

export interface Timer {
  cancel(): void;
}

export interface Random {
  /** Uniform in [0, 1). */
  fraction(): number;
  /** 128 bits that nobody can guess (in a simulation: that repeat with the seed), as 32 hex digits. */
  id(): string;
}

/** Waits, or ends at once with the signal's reason. */
export function sleep(time: Time, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(reasonOf(signal));
      return;
    }
    const onAbort = (): void => {
      timer.cancel();
      if (signal !== undefined) reject(reasonOf(signal));
    };
    const timer = time.after(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('aborted', { cause: signal.reason });
}
