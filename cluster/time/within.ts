import { ClusterError } from '../errors.js';
import type { Time } from './time.js';

/**
 * The outcome of `work`, or `deadline_exceeded`. The work itself is not cancelled; use it where cancelling is
 * impossible.
 */
export function within<Result>(
  time: Time,
  boundMs: number,
  what: string,
  work: Promise<Result>,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = time.after(boundMs, () => {
      reject(new ClusterError('deadline_exceeded', `${what}: no answer within ${boundMs} ms`));
    });
    work.then(
      (result) => {
        timer.cancel();
        resolve(result);
      },
      (error: unknown) => {
        timer.cancel();
        reject(error);
      },
    );
  });
}
