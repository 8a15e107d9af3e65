import { ClusterError } from '../errors.js';
import type { Time } from './time.js';

/** What a time-out needs of the clock. */
export type Timers = Pick<Time, 'after'>;

/**
 * The outcome of `work`, or that of `late` once the time is over: `late` returns a value in its place or throws. The
 * work itself goes on; use `withinSignal` where it can be aborted.
 */
export function within<Result, Late = never>(
  time: Timers,
  boundMs: number,
  work: Promise<Result>,
  late: () => Late,
): Promise<Result | Late> {
  return new Promise((resolve, reject) => {
    let settled = false;
    const timer = time.after(boundMs, () => {
      if (settled) return;
      settled = true;
      try {
        resolve(late());
      } catch (error) {
        reject(error);
      }
    });
    // A pending timer would keep an otherwise idle process alive.
    const settle = (): void => {
      settled = true;
      timer.cancel();
    };
    work.then(
      (result) => {
        settle();
        resolve(result);
      },
      (error: unknown) => {
        settle();
        reject(error);
      },
    );
  });
}

/** The same for the runtime's own work, which is late with `deadline_exceeded`. */
export function answerWithin<Result>(
  time: Timers,
  boundMs: number,
  what: string,
  work: Promise<Result>,
): Promise<Result> {
  return within(time, boundMs, work, () => {
    throw new ClusterError('deadline_exceeded', `${what}: no answer within ${boundMs} ms`);
  });
}

/**
 * Runs `work` with a signal that is aborted with `late()` once the time is over, and with the reason of `outer` when that
 * is aborted. It leaves no timer and no listener behind, which `AbortSignal.any` would on a signal of long life.
 */
export async function withinSignal<Result>(
  time: Timers,
  boundMs: number,
  outer: AbortSignal | undefined,
  late: () => Error,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const onOuter = (): void => controller.abort(outer?.reason);
  if (outer?.aborted === true) onOuter();
  else outer?.addEventListener('abort', onOuter, { once: true });
  const timer = time.after(boundMs, () => controller.abort(late()));
  try {
    return await work(controller.signal);
  } finally {
    timer.cancel();
    outer?.removeEventListener('abort', onOuter);
  }
}
