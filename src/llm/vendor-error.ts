import { beginningOf, jsonWebToken, keyShapes } from '../kernel/key-shapes.js';

/**
 * Each failure between the platform and a vendor, classified by the possible reaction. Adapters classify
 * once; the retry policy (`routing/retry-policy.ts`) reads only the class.
 */

export type FailureClass =
  /** 401, 402, 403: this credential is refused; another one may work. */
  | 'credential'
  /**
   * This credential may not use this model, or not today; it may use others, and another credential may use this one.
   */
  | 'model_refused'
  /** The account's credit is used up; waiting does not help. */
  | 'exhausted'
  /** Too many requests; wait as told. */
  | 'rate'
  /** A failure of the vendor: 5xx and similar. */
  | 'overload'
  /** The request is wrong; no other target would accept it. */
  | 'request'
  | 'context_overflow'
  /** Refused because of its content. */
  | 'policy'
  /** Connection refused, reset, cut off. */
  | 'transport'
  /** A success status with an unreadable reply. */
  | 'nonsense'
  /** An answer that exceeds a limit of the platform's own: the vendor did its work, and bills it. */
  | 'too_large'
  /** One of the platform's clocks ran out. */
  | 'timeout'
  /** The caller left. */
  | 'cancelled'
  /** Not sent: the pool is full or the circuit breaker is open. */
  | 'unavailable';

/** The key is refused for this call: it is wrong, its account is empty, or it may not use the model. */
export function refusesKey(failure: FailureClass): boolean {
  return failure === 'credential' || failure === 'exhausted' || failure === 'model_refused';
}

const finalClasses: ReadonlySet<FailureClass> = new Set([
  'request',
  'context_overflow',
  'policy',
  'too_large',
]);

/** The same request would fail again: it is refused itself, its answer is too large, or every key that may pay is refused. */
export function isFinal(failure: FailureClass): boolean {
  return refusesKey(failure) || finalClasses.has(failure);
}

/** `turn`: the deadline of the work that the call is a part of. */
export type Clock = 'first_signal' | 'idle' | 'call' | 'turn';

export interface VendorErrorContext {
  readonly vendor: string;
  /** The vendor's status; absent where there was no answer. */
  readonly status?: number;
  /** The vendor's own code or type. */
  readonly code?: string;
  readonly retryAfterMs?: number;
  /** The vendor says that a retry is pointless. */
  readonly neverRetry?: boolean;
  readonly clock?: Clock;
  readonly cause?: unknown;
}

/** Thrown while a reply is read; its attempt fails as `too_large`. */
export class TooLargeError extends Error {
  constructor(what: string) {
    super(what);
    this.name = 'TooLargeError';
  }
}

/** Long enough for a vendor's reason, too short to repeat a prompt. */
const originalErrorCharsMax = 500;

export class VendorError extends Error {
  readonly failure: FailureClass;
  readonly vendor: string;
  readonly status: number | undefined;
  readonly code: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly neverRetry: boolean;
  readonly clock: Clock | undefined;

  /** `reason` is the vendor's own text. It is redacted and bounded here, so that no caller can forget it. */
  constructor(failure: FailureClass, reason: string, context: VendorErrorContext) {
    super(bounded(scrubbed(reason)), { cause: context.cause });
    this.name = 'VendorError';
    this.failure = failure;
    this.vendor = context.vendor;
    this.status = context.status;
    this.code = context.code === undefined ? undefined : bounded(scrubbed(context.code));
    this.retryAfterMs = context.retryAfterMs;
    this.neverRetry = context.neverRetry ?? false;
    this.clock = context.clock;
  }

  /** The same error without any trace of one known secret; the cause is dropped, since it may hold the text too. */
  without(secret: string): VendorError {
    if (secret.length < 4) return this;
    const clean = (text: string): string => withoutSecret(text, secret);
    return new VendorError(this.failure, clean(this.message), {
      vendor: this.vendor,
      neverRetry: this.neverRetry,
      ...(this.status !== undefined && { status: this.status }),
      ...(this.code !== undefined && { code: clean(this.code) }),
      ...(this.retryAfterMs !== undefined && { retryAfterMs: this.retryAfterMs }),
      ...(this.clock !== undefined && { clock: this.clock }),
    });
  }
}

function bounded(text: string): string {
  return text.length <= originalErrorCharsMax ? text : `${text.slice(0, originalErrorCharsMax - 1)}…`;
}

/** The forms in which an error can repeat a secret: plain, percent-encoded, base64. */
export function withoutSecret(text: string, secret: string): string {
  let clean = text;
  for (const form of formsOf(secret)) {
    if (clean.includes(form)) clean = clean.replaceAll(form, '[REDACTED]');
  }
  return clean;
}

/** Caches the forms of the last secret, since most calls use the same platform key. */
let latest: readonly string[] = [];

function formsOf(secret: string): readonly string[] {
  if (latest[0] !== secret)
    latest = [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')];
  return latest;
}

/** Keys, also partly masked as vendors print them (`sk-abc***xyz`). */
const keys = keyShapes.map((shape) => {
  const masked = `[${shape.follow}]*(?:[*…•]|\\.\\.)[*…•.${shape.follow}]*`;
  return `${beginningOf(shape)}(?:${masked}|[${shape.follow}]{${shape.least},})`;
});
const credentialShapes = [
  new RegExp(`(?<![A-Za-z0-9])(?:${[...keys, jsonWebToken].join('|')})`, 'g'),
  /\b(bearer|x-api-key|x-goog-api-key|api[-_ ]?key|key)(["']?\s*[:=]\s*["']?|\s+)(?=[\w*.-]*[\d*])[\w*.+/=-]{12,}/gi,
];

export function scrubbed(text: string): string {
  let clean = text;
  for (const shape of credentialShapes) clean = clean.replace(shape, '[REDACTED]');
  return clean;
}
