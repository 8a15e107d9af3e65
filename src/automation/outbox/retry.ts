/** Waits between attempts. */
const waitsMs = [1_000, 5_000, 30_000, 120_000] as const;
/** Of one chunk. `send_on_answers` goes by this number too, for attempts that never end. */
export const attemptsMax = waitsMs.length + 1;
/** A receiver may ask for more patience than our own, within reason. */
const retryAfterMaxMs = 3_600_000;

/** What one attempt came to. */
export type AttemptResult =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfter: string | undefined }
  /** Nothing came back; `final` where another attempt cannot do better. */
  | { readonly kind: 'failed'; readonly error: string; readonly final: boolean };

/** `give-up`, or how long to wait; undefined for success. */
export function afterAttempt(
  result: AttemptResult,
  attempts: number,
  options: { readonly fraction: number; readonly nowMs: number },
): 'sent' | 'give-up' | { readonly waitMs: number } {
  if (result.kind === 'answered' && result.status >= 200 && result.status < 300) return 'sent';
  const mayRepeat = result.kind === 'failed' ? !result.final : result.status === 429 || result.status >= 500;
  const wait = waitsMs[attempts - 1];
  if (!mayRepeat || wait === undefined) return 'give-up';
  const asked = result.kind === 'answered' ? retryAfterMs(result.retryAfter, options.nowMs) : 0;
  // Spread a little, so that a receiver that was away is not met by everybody at once.
  return { waitMs: Math.max(asked, Math.round(wait * (0.9 + options.fraction * 0.2))) };
}

/** Seconds, or a date of HTTP. */
function retryAfterMs(header: string | undefined, nowMs: number): number {
  if (header === undefined) return 0;
  const ms = /^\s*\d{1,9}\s*$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs;
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), retryAfterMaxMs) : 0;
}
