import type { Time } from '../../../cluster/index.js';

/** The part of the clock that the bridge uses. Loading the runtime would delay the bridge's start. */
export type Clock = Pick<Time, 'monotonicMs' | 'after'>;

/** Resolves after the time, or as soon as the signal aborts. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.after(ms, () => {
      signal.removeEventListener('abort', end);
      resolve();
    });
    const end = (): void => {
      timer.cancel();
      resolve();
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}
