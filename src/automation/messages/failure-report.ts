import type { Time } from '../../../cluster/index.js';
import type { TriggerMeasures } from './measures.js';

/** A store that is away fails every look: one line a minute of each kind says as much as hundreds. */
const toldEveryMs = 60_000;

export interface FailuresParts {
  readonly time: Time;
  readonly measures: Pick<TriggerMeasures, 'failed'>;
  readonly report: (attempted: string, error: unknown) => void;
}

/** Tells of what failed and is tried again by itself: each time in the metrics, now and then in the log. */
export function failureReport({ time, measures, report }: FailuresParts): FailuresParts['report'] {
  const toldAtMs = new Map<string, number>();
  return (attempted, error) => {
    measures.failed(attempted);
    const nowMs = time.monotonicMs();
    const before = toldAtMs.get(attempted);
    if (before !== undefined && nowMs - before < toldEveryMs) return;
    toldAtMs.set(attempted, nowMs);
    report(attempted, error);
  };
}
