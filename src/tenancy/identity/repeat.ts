import type { Time, Timer } from '../../../cluster/index.js';

/** Runs `work` periodically until it is stopped, never twice at once. A failure is reported and retried. */
export function repeat(
  time: Time,
  everyMs: number,
  work: () => Promise<void>,
  onProblem: (error: unknown) => void,
): {
  /** Runs `work` now, or again after the run under way. */
  now(): void;
  stop(): Promise<void>;
} {
  let stopped = false;
  let busy = false;
  let again = false;
  let running: Promise<void> = Promise.resolve();
  let timer: Timer;
  const turn = async (): Promise<void> => {
    busy = true;
    try {
      await work();
    } catch (error) {
      onProblem(error);
    }
    busy = false;
    if (stopped) return;
    if (again) begin();
    else schedule();
  };
  const begin = (): void => {
    again = false;
    running = turn();
  };
  const schedule = (): void => {
    timer = time.after(everyMs, begin);
  };
  schedule();
  return {
    now() {
      if (stopped) return;
      if (busy) {
        again = true;
        return;
      }
      timer.cancel();
      begin();
    },
    async stop() {
      stopped = true;
      timer.cancel();
      await running;
    },
  };
}
