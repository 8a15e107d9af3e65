import type { Time } from '../../../cluster/index.js';
import type { TriggerMeasures } from './measures.js';

/** While the store is away every poll fails: one log line a minute for each kind of failure is enough. */
const reportEveryMs = 60_000;

export interface FailuresParts {
  readonly time: Time;
  readonly measures: Pick<TriggerMeasures, 'failed'>;
  readonly report: (attempted: string, error: unknown) => void;
}

/** Reports failures that are retried automatically: each one in the metrics, one a minute in the log. */
export function failureReport({ time, measures, report }: FailuresParts): FailuresParts['report'] {
  const reportedAtMs = new Map<string, number>();
  return (attempted, error) => {
    measures.failed(attempted);
    const nowMs = time.monotonicMs();
    const before = reportedAtMs.get(attempted);
    if (before !== undefined && nowMs - before < reportEveryMs) return;
    reportedAtMs.set(attempted, nowMs);
    report(attempted, error);
  };
}
