import type { Time } from '../../../cluster/index.js';

/** What the bridge needs of the clock. The runtime itself is not loaded: the bridge has to start at once. */
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
