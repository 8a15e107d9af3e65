import { ApiError } from './errors';

/** What the pauses need, handed in so that tests wait for nothing. */
export interface Clock {
  readonly nowMs: () => number;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** Calls once after this time, unless the returned function is called before. */
  readonly after: (milliseconds: number, call: () => void) => () => void;
}

const pageClock: Clock = {
  nowMs: () => Date.now(),
  random: () => Math.random(),
  after: (milliseconds, call) => {
    const timer = setTimeout(call, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** The sign-in, the role, or what is followed is not there: another attempt does not help. */
const finalStatuses: ReadonlySet<number> = new Set([401, 403, 404]);
const firstPauseMs = 1_000;
const longestPauseMs = 60_000;
/** A stream that went on for this long is well: the pause after it is a first one. */
const wellAfterMs = 60_000;

/**
 * Reads a stream again whenever it ends, after pauses that grow. The client connects again by itself where a connection is
 * lost, so an end is something that nobody foresaw. Resolves when the signal aborts or a refusal is final.
 */
export async function keepOpen(
  read: () => Promise<void>,
  signal: AbortSignal,
  clock: Clock = pageClock,
): Promise<void> {
  let ends = 0;
  while (!signal.aborted) {
    const startedMs = clock.nowMs();
    try {
      await read();
    } catch (error) {
      if (error instanceof ApiError && finalStatuses.has(error.status)) return;
      // The view shows that it is not live, and the next attempt may find a node again.
    }
    ends = clock.nowMs() - startedMs >= wellAfterMs ? 1 : ends + 1;
    const most = Math.min(longestPauseMs, firstPauseMs * 2 ** (ends - 1));
    if (!signal.aborted) await pause(clock, most * (0.5 + clock.random() / 2), signal);
  }
}

function pause({ after }: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = after(milliseconds, end);
    signal.addEventListener('abort', end, { once: true });
  });
}

/** Calls a listener. What it throws is reported as any uncaught error is, and ends neither the stream nor other listeners. */
export function notify(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    reportError(error);
  }
}
