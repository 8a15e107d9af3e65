import type { Fault } from './faults.js';

/** Schedules that once failed, with what was wrong. */
export const regressions: readonly {
  readonly seed: number;
  readonly faults?: readonly Fault[];
  readonly why: string;
}[] = [
  { seed: 4, why: 'calls that waited for an owner were woken without end while the link to it was down' },
];
