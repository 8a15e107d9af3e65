import type { Budget } from '../../kernel/budget.js';
import type { TenantLimits } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { CallLimits, LeaveSignal, LlmRequest } from '../../llm/index.js';
import type { OpenedRow } from '../usage/index.js';

/** The purposes of a model call, as usage rows and telemetry name them. */
export const callSources = {
  direct: 'Central.LLM.Controller',
  toolLoop: 'agent.tool-loop',
  intentCheck: 'agent.intent-check',
  lightResponse: 'agent.light-response',
} as const;

/**
 * A model call of a tenant: a direct call, or one round of an agent's turn.
 *
 * `ModelCalls.prepare(order)` runs the preflight and returns a function that starts the call. `run` makes the call and
 * emits canonical events in batches. An `AnswerBuilder` assembles them, with tool calls and signed thoughts, into the
 * assistant message that the next round's `request.messages` need. `run` returns undefined if `signal` ended the call
 * and throws a `PlatformError` if no answer came (`provider_timeout` names the clock in `details.clock`). Every attempt
 * is recorded in the ledger before `run` returns or throws.
 */
export interface CallOrder {
  readonly scope: TenantScope;
  readonly limits: TenantLimits;
  /** One of `callSources`. */
  readonly source: string;
  readonly keyId: string | null;
  readonly userId: string | null;
  readonly agentId?: string | undefined;
  readonly agentBudget?: Budget | undefined;
  readonly sessionId?: string | undefined;
  readonly executionId?: string | undefined;
  /** `auto`, or a name of a model. */
  readonly model: string;
  readonly provider?: string | undefined;
  /** The vendor that a bare name means if several have it. */
  readonly preferredVendor?: string | undefined;
  /** Models to try, in order, if the first one fails. Models that the tenant may not use are skipped. */
  readonly fallbackModels?: readonly string[] | undefined;
  /** Messages with tool calls, their results and signed thoughts; tools, temperature, `maxTokens`, `stream`. */
  readonly request: LlmRequest;
  /** `first_signal`, `idle` and `call`; 30, 30 and 120 seconds by default. */
  readonly clocks?: CallLimits | undefined;
  /** The deadline of the turn, by the monotonic clock of this process. */
  readonly turnDeadlineMs?: number | undefined;
  /** Part of admitted work, which may exceed the month's limit: the quota is not checked again. */
  readonly alreadyAdmitted?: boolean | undefined;
  /** Part of a call that its budgets admitted: they are not checked again. A round of a turn is a call of its own. */
  readonly withinBudgets?: boolean | undefined;
  /** Awaited, together with the opening of the ledger row, before the vendor is asked. If it rejects, no vendor is asked. */
  readonly ready?: Promise<void> | undefined;
  /** Opens the ledger row in the commit that `ready` waits for. Returns undefined if that commit has already started. */
  readonly openWith?: ((row: OpenedRow) => Promise<void> | undefined) | undefined;
  /** The span that the call belongs to; absent: that of the request that is being answered. */
  readonly traceparent?: string | undefined;
  /**
   * Receives the promise of the ledger write of an answered call, for a caller that stores the answer at the same time
   * and waits for both. Without it the call ends only after its ledger write.
   */
  readonly onBooking?: ((booked: Promise<void>) => void) | undefined;
  /** Asked right before each attempt, retries and fallbacks too; false ends the call as `signal` does. */
  readonly mayBegin?: (() => boolean) | undefined;
  /** Ends the call: the vendor's connection is closed at once, and the usage so far is recorded. */
  readonly signal: LeaveSignal;
}
