import { type ErrorCode, PlatformError } from '../../kernel/errors.js';
import type { TurnOutcome } from '../triggers/ports.js';

/** The end of a message that gets no turn. */
export const blocked: TurnOutcome = {
  outcome: 'BLOCKED',
  content: '',
  totalTokens: 0,
  latencyMs: 0,
  error: undefined,
};

/** Errors of the agent's own settings. The sender cannot fix them, so they are the turn's failure. */
const engineRefusals: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid_model',
  'invalid_provider',
  'MODEL_TIER_RESTRICTED',
  'email_unverified',
]);

/** `record` is set if no session knows the turn, so its end must be recorded here. */
export async function takenOrRefused(
  turn: Promise<TurnOutcome>,
): Promise<{ readonly turn: TurnOutcome; readonly record: 'failed' | undefined }> {
  try {
    return { turn: await turn, record: undefined };
  } catch (error) {
    if (!(error instanceof PlatformError) || !engineRefusals.has(error.code)) throw error;
    const { code, message } = error;
    return { turn: { ...blocked, outcome: 'FAILED', error: { code, message } }, record: 'failed' };
  }
}
