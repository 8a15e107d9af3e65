import type { AttemptReport, AttemptStart } from './attempt-report.js';
import type { LlmRequest } from './contract.js';
import type { LeaveSignal } from '../kernel/leave-signal.js';
import type { AttemptPorts } from './open-attempt.js';
import type { CircuitBreakers } from './routing/circuit-breakers.js';
import type { Observations } from './routing/observations.js';
import type { KeyLoads } from './routing/key-loads.js';
import type { CallPlan, Credential } from './routing/plan.js';
import type { VendorError } from './vendor-error.js';

export interface CallLimits {
  readonly firstSignalMs: number;
  readonly idleMs: number;
  /** The limit for all attempts together. */
  readonly callMs: number;
}

export const defaultCallLimits: CallLimits = { firstSignalMs: 30_000, idleMs: 30_000, callMs: 120_000 };

/** The deadline of all attempts, and the clock that sets it. */
export interface CallDeadline {
  readonly atMs: number;
  readonly clock: 'call' | 'turn';
}

export interface CallPorts extends AttemptPorts {
  readonly chance: () => number;
  /** The id of an attempt: no other attempt has it, whichever process makes it. */
  readonly newId: () => string;
  readonly breakers: CircuitBreakers;
  readonly observations?: Observations;
  readonly loads?: KeyLoads;
  /** Told when the vendor refuses a key of the platform that it took before. */
  readonly onKeyRefused?: (credential: Credential, error: VendorError) => void;
  /** Awaited before anything is sent. Its error ends the call: a refusal by the platform is not the vendor's failure. */
  readonly beforeAttempt?: (start: AttemptStart) => Promise<void>;
  /** Awaited before the answer ends, once for each start that returned. */
  readonly afterAttempt?: (report: AttemptReport) => Promise<void>;
}

export interface CallOutcome {
  readonly kind: 'completed' | 'failed' | 'cancelled';
  /** Every attempt that was started; the last one determines the outcome. */
  readonly attempts: readonly AttemptReport[];
  readonly error: VendorError | undefined;
  /** A part of the answer was emitted, so an error can only be its last event. */
  readonly answering: boolean;
}

export interface Call {
  readonly plan: CallPlan;
  readonly request: LlmRequest;
  readonly limits?: CallLimits;
  /** The deadline of the surrounding work, by the monotonic clock. */
  readonly turnDeadlineMs?: number;
  /**
   * Asked right before each attempt. False ends the call as if its caller had left: another process may do its work.
   */
  readonly mayBegin?: () => boolean;
  /** The caller left: the vendor's connection is closed at once, and the usage so far is recorded. */
  readonly signal: LeaveSignal;
}
