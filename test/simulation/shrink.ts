import type { Fault } from './faults.js';
import { run, type RunOptions, type Verdict } from './run.js';

/** The same failure with the fewest and shortest faults found within `tries` runs. */
export async function shrink(options: RunOptions, failed: Verdict, tries = 60): Promise<Verdict> {
  let best = failed;
  let left = tries;
  let isSmaller = true;
  while (isSmaller && left > 0) {
    isSmaller = false;
    for (const faults of candidates(best.faults)) {
      if (left === 0) break;
      left -= 1;
      const verdict = await run({ ...options, faults });
      if (verdict.violations.length === 0) continue;
      best = verdict;
      isSmaller = true;
      break;
    }
  }
  return best;
}

function candidates(faults: readonly Fault[]): Fault[][] {
  const fewer = faults.map((_, index) => faults.filter((_fault, other) => other !== index));
  const shorter = faults.flatMap((fault, index) =>
    'forMs' in fault && fault.forMs > 200
      ? [
          faults.map((one, other) =>
            other === index ? { ...fault, forMs: Math.floor(fault.forMs / 2) } : one,
          ),
        ]
      : [],
  );
  return [...fewer, ...shorter];
}
