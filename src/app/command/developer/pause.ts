import { setTimeout as delay } from 'node:timers/promises';

/** Ends early, and without an error, when the signal aborts. */
export async function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
