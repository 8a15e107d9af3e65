/**
 * Circuit breakers per vendor and credential, so that one tenant's bad key does not affect the platform's. A breaker is
 * closed until `failuresMax` failures in a row; then open, twice as long each time; then half-open: the outcome of one
 * call decides.
 */
export const breakerLimits = {
  failuresMax: 5,
  /** Failures further apart than this are not "in a row". */
  memoryMs: 60_000,
  openMs: 10_000,
  openMsMax: 120_000,
  /** Ends a probe that never reports back because its process died, so that it does not block the way forever. */
  probeMsMax: 120_000,
  breakersMax: 10_000,
} as const;

export type BreakerState = 'open' | 'half_open' | 'closed';

interface Breaker {
  readonly vendor: string;
  failures: number;
  lastFailureAtMs: number;
  openedTimes: number;
  openUntilMs: number;
  probeUntilMs: number;
}

export class CircuitBreakers {
  readonly #breakers = new Map<string, Breaker>();
  readonly #onMoved: (vendor: string, state: BreakerState) => void;

  constructor(onMoved: (vendor: string, state: BreakerState) => void = () => undefined) {
    this.#onMoved = onMoved;
  }

  /** Whether a call may be sent now. A half-open breaker admits only the first caller, which must report the outcome. */
  admits(vendor: string, credentialId: string, nowMs: number): boolean {
    const breaker = this.#breakers.get(keyOf(vendor, credentialId));
    if (breaker === undefined || breaker.openedTimes === 0) return true;
    if (nowMs < breaker.openUntilMs || nowMs < breaker.probeUntilMs) return false;
    breaker.probeUntilMs = nowMs + breakerLimits.probeMsMax;
    this.#onMoved(vendor, 'half_open');
    return true;
  }

  /** The same without taking the place of the probe: for choosing among models. */
  isOpen(vendor: string, credentialId: string, nowMs: number): boolean {
    const breaker = this.#breakers.get(keyOf(vendor, credentialId));
    return breaker !== undefined && breaker.openedTimes > 0 && nowMs < breaker.openUntilMs;
  }

  succeeded(vendor: string, credentialId: string): void {
    const key = keyOf(vendor, credentialId);
    const breaker = this.#breakers.get(key);
    if (breaker === undefined) return;
    this.#breakers.delete(key);
    if (breaker.openedTimes > 0) this.#onMoved(vendor, 'closed');
  }

  /** The number of open breakers, by vendor. Reads all of them: for a look from outside, not for calls. */
  open(nowMs: number): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { vendor, openedTimes, openUntilMs } of this.#breakers.values()) {
      if (openedTimes > 0 && nowMs < openUntilMs) counts.set(vendor, (counts.get(vendor) ?? 0) + 1);
    }
    return counts;
  }

  /** The call ended without a verdict on the vendor: the place of the probe is free again. */
  abstained(vendor: string, credentialId: string): void {
    const breaker = this.#breakers.get(keyOf(vendor, credentialId));
    if (breaker !== undefined) breaker.probeUntilMs = 0;
  }

  /**
   * A failure while the breaker is open changes nothing: one break of the network ends all calls under way, and each would
   * double the time.
   */
  failed(vendor: string, credentialId: string, nowMs: number): void {
    const key = keyOf(vendor, credentialId);
    const breaker = this.#breakers.get(key) ?? this.#add(key, vendor);
    const probing = breaker.openedTimes > 0;
    if (probing && nowMs < breaker.openUntilMs) return;
    const inARow = nowMs - breaker.lastFailureAtMs <= breakerLimits.memoryMs;
    breaker.failures = inARow ? breaker.failures + 1 : 1;
    breaker.lastFailureAtMs = nowMs;
    breaker.probeUntilMs = 0;
    if (!probing && breaker.failures < breakerLimits.failuresMax) return;
    const openMs = breakerLimits.openMs * 2 ** Math.min(breaker.openedTimes, 10);
    this.#open(breaker, nowMs, Math.min(breakerLimits.openMsMax, openMs));
  }

  /**
   * The vendor refuses the key itself: one refusal is enough, and seconds do not change it. True if the breaker was closed
   * before.
   */
  refused(vendor: string, credentialId: string, nowMs: number): boolean {
    const wasOpen = this.isOpen(vendor, credentialId, nowMs);
    const key = keyOf(vendor, credentialId);
    this.#open(this.#breakers.get(key) ?? this.#add(key, vendor), nowMs, breakerLimits.openMsMax);
    return !wasOpen;
  }

  #open(breaker: Breaker, nowMs: number, openMs: number): void {
    const wasOpen = breaker.openedTimes > 0 && nowMs < breaker.openUntilMs;
    breaker.openUntilMs = nowMs + openMs;
    breaker.probeUntilMs = 0;
    breaker.openedTimes += 1;
    if (!wasOpen) this.#onMoved(breaker.vendor, 'open');
  }

  #add(key: string, vendor: string): Breaker {
    if (this.#breakers.size >= breakerLimits.breakersMax) {
      const oldest = this.#breakers.keys().next().value;
      if (oldest !== undefined) this.#breakers.delete(oldest);
    }
    const breaker: Breaker = {
      vendor,
      failures: 0,
      lastFailureAtMs: Number.NEGATIVE_INFINITY,
      openedTimes: 0,
      openUntilMs: 0,
      probeUntilMs: 0,
    };
    this.#breakers.set(key, breaker);
    return breaker;
  }
}

function keyOf(vendor: string, credentialId: string): string {
  return `${vendor} ${credentialId}`;
}
