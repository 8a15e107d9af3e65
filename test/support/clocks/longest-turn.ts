import { setTimeout as delay } from 'node:timers/promises';

const everyMs = 5;

function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/**
 * Does the work, and tells how long this process computed at most without a turn of its event loop. Counted in
 * processor time: a pause of the machine, or a core that other processes use, is no delay by this one.
 */
export async function longestTurn<Result>(
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly turnMs: number }> {
  // What the other tests of the file compute while they begin is over in the next turn.
  await delay(everyMs);
  let turnMs = 0;
  let before = usedMs();
  const look = (): void => {
    const now = usedMs();
    turnMs = Math.max(turnMs, now - before);
    before = now;
  };
  const timer = setInterval(look, everyMs);
  try {
    const result = await work();
    look();
    return { result, turnMs };
  } finally {
    clearInterval(timer);
  }
}
