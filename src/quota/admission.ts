import type { Time } from '../../cluster/index.js';
import type { Caller, TenantCaller, TenantLimits } from '../context/caller.js';
import type { TenantScope } from '../context/tenant-scope.js';
import { PlatformError } from '../errors.js';
import type { Admission, Admitted, RateClass, RateFigures } from '../operations/index.js';
import { dayOf, nextDayMs } from './calendar.js';
import type { Countable, Grants } from './grants.js';
import { figuresOf, type Now, quotaExceeded, rateLimited, windowFull } from './refusals.js';
import { WindowSet } from './window-set.js';

/** Requests of one user in one tenant, in every plan. */
const userRequestsPerMinute = 300;
const addressRequestsPerMinute = 120;

export interface AdmissionOptions {
  readonly time: Time;
  /** Each tenant's model work of each day. */
  readonly days: Grants;
  /** Each key's model work over its life. */
  readonly lives: Grants;
  /** False where the operator has switched daily limits off. */
  readonly dailyLimits: boolean;
  /** Of each of the four kinds of window. */
  readonly windowsMax: number;
}

/**
 * Windows of one process. Behind the interface, the counts of several nodes can be brought together later without a
 * change to whoever asks.
 */
export class LocalAdmission implements Admission {
  readonly #time: Time;
  readonly #days: Grants;
  readonly #lives: Grants;
  readonly #dailyLimits: boolean;
  readonly #keys: WindowSet;
  readonly #tenants: WindowSet;
  readonly #users: WindowSet;
  readonly #addresses: WindowSet;

  constructor(options: AdmissionOptions) {
    this.#time = options.time;
    this.#days = options.days;
    this.#lives = options.lives;
    this.#dailyLimits = options.dailyLimits;
    this.#keys = new WindowSet(options.windowsMax);
    this.#tenants = new WindowSet(options.windowsMax);
    this.#users = new WindowSet(options.windowsMax);
    this.#addresses = new WindowSet(options.windowsMax);
  }

  admitRequest(caller: Caller, rate: RateClass): Admitted {
    const now = this.#now();
    if (rate === 'uncounted') return { figures: this.#addressFigures(caller.address, now) };
    switch (caller.kind) {
      case 'key':
        return count(this.#keys, caller.keyId, caller.requestsPerMinute, now);
      case 'tenant-user':
        if (rate === 'model-work') return look(this.#tenants, caller.scope.tenantId, caller.limits, now);
        return count(this.#users, `${caller.scope.tenantId}/${caller.userId}`, userRequestsPerMinute, now);
      case 'user':
        return count(this.#users, caller.userId, userRequestsPerMinute, now);
      case 'anonymous':
        // Model work without a credential is a webhook's, and counts for the tenant that it turns out to be for.
        if (rate === 'model-work') return { figures: this.#addressFigures(caller.address, now) };
        return count(this.#addresses, caller.address, addressRequestsPerMinute, now);
      case 'operator':
        return { figures: this.#addressFigures(caller.address, now) };
    }
  }

  admitModelWork(caller: Caller): Admitted | Promise<Admitted> {
    if (caller.kind !== 'key' && caller.kind !== 'tenant-user') {
      return { figures: this.figuresOfAddress(caller.address) };
    }
    return this.admitTenantWork(caller.scope, caller.limits, caller);
  }

  /** Model work of a tenant, also where nobody signed in asked for it. */
  admitTenantWork(
    scope: TenantScope,
    limits: TenantLimits,
    caller?: TenantCaller,
  ): Admitted | Promise<Admitted> {
    return this.#tryModelWork(scope, limits, caller) ?? this.#afterPreparing(scope, limits, caller);
  }

  figuresOfAddress(address: string): RateFigures {
    return this.#addressFigures(address, this.#now());
  }

  dropIdle(): void {
    const nowMs = this.#time.monotonicMs();
    for (const windows of [this.#keys, this.#tenants, this.#users, this.#addresses]) windows.dropIdle(nowMs);
    this.#days.dropIdle();
    this.#lives.dropIdle();
  }

  /** Judges and counts in one tick, so that nothing comes in between; undefined when a block must be taken first. */
  #tryModelWork(
    scope: TenantScope,
    limits: TenantLimits,
    caller: TenantCaller | undefined,
  ): Admitted | undefined {
    const now = this.#now();
    const window = this.#tenants.window(scope.tenantId);
    if (window.used(now.monotonicMs) >= limits.requestsPerMinute) {
      return windowFull(window, limits.requestsPerMinute, now);
    }
    const day = this.#dayOf(scope, limits, now);
    const dayStanding = day === undefined ? 'has-room' : this.#days.standing(day);
    if (dayStanding === 'used-up') return rateLimited(limits.requestsPerDay, nextDayMs(now.wallMs), now);
    const life = lifeOf(caller);
    const lifeStanding = life === undefined ? 'has-room' : this.#lives.standing(life);
    if (life !== undefined && lifeStanding === 'used-up') {
      return quotaExceeded({ limit: life.limit, used: this.#lives.used(life) }, null, now);
    }
    if (dayStanding === 'unknown' || lifeStanding === 'unknown') return undefined;
    window.add(now.monotonicMs);
    if (day !== undefined) this.#days.grant(day);
    if (life !== undefined) this.#lives.grant(life);
    return caller?.kind === 'key'
      ? { figures: figuresOf(this.#keys.peek(caller.keyId), caller.requestsPerMinute, now) }
      : { figures: figuresOf(window, limits.requestsPerMinute, now) };
  }

  async #afterPreparing(
    scope: TenantScope,
    limits: TenantLimits,
    caller: TenantCaller | undefined,
  ): Promise<Admitted> {
    for (;;) {
      await this.#prepare(scope, limits, caller);
      // Whoever resumed earlier may have taken the whole block; each round grants at least one or finds the end.
      const admitted = this.#tryModelWork(scope, limits, caller);
      if (admitted !== undefined) return admitted;
    }
  }

  async #prepare(scope: TenantScope, limits: TenantLimits, caller: TenantCaller | undefined): Promise<void> {
    const now = this.#now();
    const day = this.#dayOf(scope, limits, now);
    const life = lifeOf(caller);
    try {
      await Promise.all([
        day !== undefined && this.#days.standing(day) === 'unknown' ? this.#days.prepare(day) : undefined,
        life !== undefined && this.#lives.standing(life) === 'unknown'
          ? this.#lives.prepare(life)
          : undefined,
      ]);
    } catch (cause) {
      // A count that cannot be kept admits nothing.
      throw new PlatformError('service_unavailable', { retryAfterSeconds: 1, cause });
    }
  }

  #dayOf(scope: TenantScope, limits: TenantLimits, now: Now): Countable | undefined {
    if (!this.#dailyLimits) return undefined;
    return { scope, subject: dayOf(now.wallMs), limit: limits.requestsPerDay };
  }

  #addressFigures(address: string, now: Now): RateFigures {
    return figuresOf(this.#addresses.peek(address), addressRequestsPerMinute, now);
  }

  #now(): Now {
    return { monotonicMs: this.#time.monotonicMs(), wallMs: this.#time.wallMs() };
  }
}

function count(windows: WindowSet, name: string, limit: number, now: Now): Admitted {
  const window = windows.window(name);
  if (window.used(now.monotonicMs) >= limit) return windowFull(window, limit, now);
  window.add(now.monotonicMs);
  return { figures: figuresOf(window, limit, now) };
}

function look(windows: WindowSet, tenantId: string, limits: TenantLimits, now: Now): Admitted {
  const window = windows.peek(tenantId);
  const limit = limits.requestsPerMinute;
  if (window !== undefined && window.used(now.monotonicMs) >= limit) return windowFull(window, limit, now);
  return { figures: figuresOf(window, limit, now) };
}

function lifeOf(caller: TenantCaller | undefined): Countable | undefined {
  if (caller?.kind !== 'key' || caller.quotaLimit === null) return undefined;
  return { scope: caller.scope, subject: caller.keyId, limit: caller.quotaLimit };
}
