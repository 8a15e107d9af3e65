import type { Epoch } from '../ids/ids.js';
import type { HistogramReading } from '../measures/histogram.js';
import type { EndReason } from './kind.js';
import type { CellState } from './state.js';

export interface TableCounts {
  readonly activations: number;
  readonly activationFailures: number;
  readonly fenceRejections: number;
  readonly shed: number;
  readonly repeats: number;
  readonly ended: Readonly<Partial<Record<EndReason, number>>>;
}

/** Measured in turns of the event loop: shorter durations read as 0. */
export interface TurnLatencies {
  readonly waited: HistogramReading;
  readonly ran: HistogramReading;
  readonly firstMessage: HistogramReading;
}

export interface ResidentActor {
  readonly state: CellState;
  readonly busy: boolean;
  readonly waiting: number;
  /** 0 for an actor without durable state. */
  readonly epoch: Epoch;
}
