/** The pauses between attempts. */
const waitsMs = [1_000, 5_000, 30_000, 120_000] as const;
/** The attempts per chunk. The SQL function `send_on_answers` uses the same number for attempts that never end. */
export const attemptsMax = waitsMs.length + 1;
/** The upper bound of a receiver's Retry-After. */
const retryAfterMaxMs = 3_600_000;

/** The result of one attempt. */
export type AttemptResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly retryAfter: string | undefined;
      /** What the owner should know if the receiver refuses. */
      readonly hint?: string | undefined;
    }
  /** No response arrived, or one that reports a fault under a success status; `final` if a retry cannot succeed. */
  | {
      readonly kind: 'failed';
      readonly error: string;
      readonly final: boolean;
      readonly retryAfter?: string | undefined;
    };

/** Decides what follows an attempt: success, `give-up`, or the pause before the next one. */
export function afterAttempt(
  result: AttemptResult,
  attempts: number,
  options: { readonly fraction: number; readonly nowMs: number },
): 'sent' | 'give-up' | { readonly waitMs: number } {
  if (result.kind === 'answered' && result.status >= 200 && result.status < 300) return 'sent';
  const mayRepeat = result.kind === 'failed' ? !result.final : result.status === 429 || result.status >= 500;
  const wait = waitsMs[attempts - 1];
  if (!mayRepeat || wait === undefined) return 'give-up';
  const asked = retryAfterMs(result.retryAfter, options.nowMs);
  // Add jitter, so that a receiver that was down is not hit by all retries at once.
  return { waitMs: Math.max(asked, Math.round(wait * (0.9 + options.fraction * 0.2))) };
}

/** Parses Retry-After: seconds, or an HTTP date. */
function retryAfterMs(header: string | undefined, nowMs: number): number {
  if (header === undefined) return 0;
  const ms = /^\s*\d{1,9}\s*$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs;
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), retryAfterMaxMs) : 0;
}
