import type { LlmRequest, StopReason } from './contract.js';
import type { Target } from './routing/plan.js';
import type { Usage } from './usage.js';
import type { VendorError } from './vendor-error.js';

/** The data with which the ledger opens a row, before the vendor is asked. */
export interface AttemptStart {
  readonly attemptId: string;
  /** Counted from 1. */
  readonly number: number;
  readonly target: Target;
  readonly payer: 'platform' | 'tenant';
  readonly request: LlmRequest;
}

export type AttemptOutcome = 'completed' | 'failed' | 'timeout' | 'cancelled';

/** The data with which the ledger closes the row. */
export interface AttemptReport extends AttemptStart {
  readonly outcome: AttemptOutcome;
  readonly usage: Usage;
  readonly stop: StopReason | undefined;
  /** The beginning of the answer's text, for logs. */
  readonly excerpt: string;
  readonly error: VendorError | undefined;
  readonly vendorRequestId: string | undefined;
  /** What the vendor names its answer and the model that gave it. */
  readonly answered?: { readonly id: string | undefined; readonly model: string | undefined } | undefined;
  readonly startedAtMs: number;
  readonly firstSignalMs: number | undefined;
  readonly durationMs: number;
}
