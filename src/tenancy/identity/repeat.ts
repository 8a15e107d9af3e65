import type { Time, Timer } from '../../../cluster/index.js';

/** Runs `work` periodically until it is stopped, never twice at once. A failure is reported and retried. */
export function repeat(
  time: Time,
  everyMs: number,
  work: () => Promise<void>,
  onProblem: (error: unknown) => void,
): { stop(): Promise<void> } {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  let timer: Timer;
  const turn = async (): Promise<void> => {
    try {
      await work();
    } catch (error) {
      onProblem(error);
    }
    if (!stopped) schedule();
  };
  const schedule = (): void => {
    timer = time.after(everyMs, () => {
      running = turn();
    });
  };
  schedule();
  return {
    async stop() {
      stopped = true;
      timer.cancel();
      await running;
    },
  };
}
