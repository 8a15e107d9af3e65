import { setTimeout as delay } from 'node:timers/promises';

export interface EventuallyOptions {
  /** The time limit; generous, because an early state costs no wait. */
  timeoutMs?: number;
  everyMs?: number;
  /** Named in the failure. */
  what?: string;
}

type Pending<T> = T | false | null | undefined;

/** Waits until `check` gives something other than false, null or undefined; throws when it never does. */
export async function eventually<T>(
  check: () => Pending<T> | Promise<Pending<T>>,
  { timeoutMs = 30_000, everyMs = 20, what = 'the awaited state' }: EventuallyOptions = {},
): Promise<T> {
  const endsAt = performance.now() + timeoutMs;
  for (;;) {
    const value = await check();
    if (value !== false && value !== null && value !== undefined) return value;
    if (performance.now() >= endsAt) throw new Error(`${what}: not within ${timeoutMs} ms`);
    await delay(everyMs);
  }
}
