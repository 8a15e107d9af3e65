/** The platform's deadlines; a trigger can only shorten them. */
export const syncDeadlineMs = 180_000;
export const asyncDeadlineMs = 600_000;
const leastMs = 1_000;

/**
 * `execution.timeout_ms` takes precedence over `timeout_ms`. Values that are not numbers or are too small are ignored.
 */
export function deadlineOf(
  mode: 'sync' | 'async',
  executionTimeout: unknown,
  triggerTimeout: unknown,
): number {
  const platform = mode === 'async' ? asyncDeadlineMs : syncDeadlineMs;
  const wanted = [executionTimeout, triggerTimeout].find(isMeant);
  return wanted === undefined ? platform : Math.min(platform, wanted);
}

function isMeant(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= leastMs;
}
