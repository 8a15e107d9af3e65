import { createHash } from 'node:crypto';
import type { TenantLimits } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { CallLimits, LeaveSignal, LlmRequest } from '../../llm/index.js';
import type { OpenedRow } from '../usage/index.js';

/** What a model call is for, as usage rows and telemetry name it. */
export const callSources = {
  direct: 'Central.LLM.Controller',
  toolLoop: 'agent.tool-loop',
  intentCheck: 'agent.intent-check',
  lightResponse: 'agent.light-response',
} as const;

/**
 * A model call that somebody in a tenant wants: a direct call, or one round of an agent's turn.
 *
 * `ModelCalls.prepare(order)` judges it and gives a function that begins it; `run` then makes the call and
 * hands out canonical events, batch by batch: an `AnswerBuilder` puts the answer together, tool calls and signed
 * thoughts included, as the assistant message that the next round's `request.messages` take. It gives
 * undefined where `signal` ended the call, throws a `PlatformError` where no answer came (`provider_timeout` names the
 * clock in `details.clock`), and books every attempt before it ends in any of these ways.
 */
export interface CallOrder {
  readonly scope: TenantScope;
  readonly limits: TenantLimits;
  /** One of `callSources`. */
  readonly source: string;
  readonly keyId: string | null;
  readonly userId: string | null;
  readonly agentId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly executionId?: string | undefined;
  /** `auto`, or the id of a model. */
  readonly model: string;
  readonly provider?: string | undefined;
  /** Models that answer in place of the first one's failures, in order; those that may not serve are passed over. */
  readonly fallbackModels?: readonly string[] | undefined;
  /** Messages with tool calls, their results and signed thoughts; tools, temperature, `maxTokens`, `stream`. */
  readonly request: LlmRequest;
  /** `first_signal`, `idle` and `call`; 30, 30 and 120 seconds where nothing is said. */
  readonly clocks?: CallLimits | undefined;
  /** When the turn must have ended, by the monotonic clock of this process. */
  readonly turnDeadlineMs?: number | undefined;
  /**
   * Fixed before the call where a repeat must be known as one (`callIdFrom`); rows with an id seen before are not
   * written again. A call that is made again after its process died is another call, with a bill of its own, so its
   * number of attempts belongs into the seed: execution, step, take-up.
   */
  readonly callId?: string | undefined;
  /** Part of work that was let in already: what crosses the month's limit is served whole, so it is not judged again. */
  readonly letIn?: boolean | undefined;
  /** Awaited, beside the opening of the books, before anybody is asked; where it rejects nobody is. */
  readonly ready?: Promise<void> | undefined;
  /** Opens the books in the commit that `ready` waits for; gives undefined where that has left already. */
  readonly openWith?: ((row: OpenedRow) => Promise<void> | undefined) | undefined;
  /**
   * Takes over the booking of a call that was answered, for whoever makes its answer durable at the same time and waits
   * for both. Else a call does not end before it is booked.
   */
  readonly onBooking?: ((booked: Promise<void>) => void) | undefined;
  /** Ends the call: the vendor's connection is closed at once, and what was used is booked. */
  readonly signal: LeaveSignal;
}

/** The same UUID for the same seed. */
export function callIdFrom(seed: string): string {
  const bytes = createHash('sha256').update(seed).digest().subarray(0, 16);
  // Version 8, the one for ids of one's own making, and the variant of RFC 9562.
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

export function attemptIdOf(callId: string, attemptNumber: number): string {
  return callIdFrom(`${callId}/${attemptNumber}`);
}
