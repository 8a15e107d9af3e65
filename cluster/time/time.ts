/**
 * Time and randomness as parameters. Only `cluster/time/` uses the global clock, timers and random source, so that a
 * whole cluster can run on a virtual clock.
 */
export interface Time {
  /** Never decreases; may stand still while the machine is paused. */
  monotonicMs(): number;
  /** Milliseconds since 1970. Continues during a pause, but may be set back or forward. */
  wallMs(): number;
  /** Runs `action` once, not before `delayMs` has passed. */
  after(delayMs: number, action: () => void): Timer;
  /** Runs `action` after the current events of the event loop; requests made in between form one batch. */
  soon(action: () => void): void;
}

export interface Timer {
  cancel(): void;
}

export interface Random {
  /** Uniform in [0, 1). */
  fraction(): number;
  /** 128 unpredictable bits (in a simulation: determined by the seed), as 32 hex digits. */
  id(): string;
}

/** Waits; rejects at once with the signal's reason on abort. */
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
