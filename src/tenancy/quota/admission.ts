import { type Time, within } from '../../../cluster/index.js';
import { addressGroup } from '../../kernel/address.js';
import {
  type Caller,
  type KeyCaller,
  keyOfVisitor,
  type TenantLimits,
  type TenantUserCaller,
  type VisitorCaller,
} from '../../kernel/caller.js';
import { type Ready, whenReady } from '../../kernel/ready.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError } from '../../kernel/errors.js';
import type { Admission, Admitted, RateClass, RateFigures } from '../../http/operations/index.js';
import { dayMs, dayOf, nextDayMs } from './calendar.js';
import type { Countable, Grants } from './grants.js';
import { figuresOf, type Now, quotaExceeded, rateLimited, windowFull } from './refusals.js';
import { SlidingWindow } from './sliding-window.js';
import { ClientWindows } from './client-windows.js';
import type { WindowExchange } from './window-exchange.js';
import { WindowSet } from './window-set.js';

/** Requests of one user in one tenant, in every plan. */
const userRequestsPerMinute = 300;
const addressRequestsPerMinute = 120;
/** Of one user in one tenant: requests for model work that are refused as invalid, or for another reason of their own. */
const refusedWorkPerMinute = 300;
/** Reading a large body costs more than a place: it counts once for each of these bytes that it begins. */
const refusedWorkBytes = 1024 * 1024;
const refusedWorkMax = 10;
/** Messages of one visitor of a page with a public key. */
const visitorMessagesPerMinute = 20;

/** The maximum difference between the clocks of two nodes. */
const clockSkewMs = 5_000;

/** A store that takes longer to record a block counts as away. */
const patienceMs = 3_000;

export interface AdmissionOptions {
  readonly time: Time;
  /** Each tenant's model work per day. */
  readonly days: Grants;
  /** Each key's model work over its lifetime. */
  readonly lives: Grants;
  /** False if the operator has disabled daily limits. */
  readonly dailyLimits: boolean;
  /** The maximum of each of the four kinds of window. */
  readonly windowsMax: number;
  /** With it, all nodes count users and addresses together; without it this process counts alone. */
  readonly exchange?: WindowExchange | undefined;
}

/** A window in the form that another process can merge. */
export interface WindowHistory {
  readonly keyId: string;
  readonly agesMs: readonly number[];
  readonly counts: readonly number[];
}

/** The limits of model work. */
export type WorkLimits = Pick<TenantLimits, 'requestsPerMinute' | 'requestsPerDay'>;

/** The fields of a caller's key that admission counts. */
export interface CountedKey extends Pick<KeyCaller, 'keyId' | 'requestsPerMinute' | 'quotaLimit'> {
  readonly scope: TenantScope;
}

/**
 * The counts of one process: users and addresses, of which each process counts its part, and the tenants and keys that
 * it counts for all nodes, because their quota actors are here.
 */
export class LocalAdmission implements Admission {
  readonly #time: Time;
  readonly #days: Grants;
  readonly #lives: Grants;
  readonly #dailyLimits: boolean;
  readonly #keys: WindowSet<SlidingWindow>;
  readonly #tenants: WindowSet<SlidingWindow>;
  readonly #users: ClientWindows;
  readonly #addresses: ClientWindows;

  constructor(options: AdmissionOptions) {
    this.#time = options.time;
    this.#days = options.days;
    this.#lives = options.lives;
    this.#dailyLimits = options.dailyLimits;
    this.#keys = new WindowSet(options.windowsMax, () => new SlidingWindow());
    this.#tenants = new WindowSet(options.windowsMax, () => new SlidingWindow());
    this.#users = new ClientWindows('user', options);
    this.#addresses = new ClientWindows('address', options);
  }

  admitRequest(caller: Caller, rate: RateClass): Ready<Admitted> {
    if (rate === 'uncounted') return { figures: this.figuresOfAddress(caller.address) };
    switch (caller.kind) {
      case 'key':
        return this.admitKey(caller);
      case 'visitor':
        return whenReady(this.admitVisitor(caller, rate), (admitted) =>
          admitted.refusal === undefined ? this.admitKey(caller) : admitted,
        );
      case 'tenant-user':
        if (rate === 'model-work')
          return this.fullOfRefused(caller) ?? this.lookAtTenant(caller.scope, caller.limits);
        return this.#users.count(`${caller.scope.tenantId}/${caller.userId}`, userRequestsPerMinute);
      case 'user':
        return this.#users.count(caller.userId, userRequestsPerMinute);
      case 'anonymous':
        // Model work without a credential is a webhook's, and counts for the tenant that the webhook resolves to.
        if (rate === 'model-work') return { figures: this.figuresOfAddress(caller.address) };
        return this.#addresses.count(addressGroup(caller.address), addressRequestsPerMinute);
      case 'operator':
        return { figures: this.figuresOfAddress(caller.address) };
    }
  }

  /** Each visitor has a window, and the visitors of an address share one: nobody uses up the key for all others. */
  admitVisitor({ address, scope, visitorId }: VisitorCaller, rate: RateClass): Ready<Admitted> {
    return whenReady(this.#addresses.count(addressGroup(address), addressRequestsPerMinute), (admitted) =>
      admitted.refusal !== undefined || rate !== 'model-work' || visitorId === undefined
        ? admitted
        : this.#users.count(`${scope.tenantId}/visitor ${visitorId}`, visitorMessagesPerMinute),
    );
  }

  admitModelWork(caller: Caller): Admitted | Promise<Admitted> {
    if (caller.kind === 'visitor') return this.admitModelWork(keyOfVisitor(caller));
    if (caller.kind !== 'key' && caller.kind !== 'tenant-user') {
      return { figures: this.figuresOfAddress(caller.address) };
    }
    return this.admitTenantWork(caller.scope, caller.limits, caller.kind === 'key' ? caller : undefined);
  }

  /** The refusal of a user whose window of refused model work is full. */
  fullOfRefused(caller: TenantUserCaller): Admitted | undefined {
    const name = refusedWorkOf(caller);
    const refusal = this.#users.refusal(name, refusedWorkPerMinute);
    return refusal && { figures: this.#users.figures(name, refusedWorkPerMinute), refusal };
  }

  noteRefusedWork(caller: Caller, bodyBytes: number): void {
    if (caller.kind !== 'tenant-user') return;
    const times = Math.min(refusedWorkMax, Math.max(1, Math.ceil(bodyBytes / refusedWorkBytes)));
    for (let time = 0; time < times; time += 1) {
      this.#users.countAtOnce(refusedWorkOf(caller), refusedWorkPerMinute);
    }
  }

  admitKey({ keyId, requestsPerMinute }: CountedKey, now = this.#now()): Admitted {
    return count(this.#keys, keyId, requestsPerMinute, now);
  }

  lookAtTenant({ tenantId }: TenantScope, limits: WorkLimits, now = this.#now()): Admitted {
    return look(this.#tenants, tenantId, limits, now);
  }

  /** Takes back admitted model work that did not start. */
  takeBackWork(scope: TenantScope, limits: WorkLimits, key?: CountedKey, agoMs = 0): void {
    const now = this.#now();
    this.#tenants.peek(scope.tenantId)?.refund();
    const day = this.#dayOf(scope, limits, now);
    // Around midnight the day of the count is uncertain; the work stays counted.
    const isOfToday = dayOf(now.wallMs - agoMs - clockSkewMs) === day?.subject;
    if (day !== undefined && isOfToday) this.#days.refund(day);
    const life = lifeOf(key);
    if (life !== undefined) this.#lives.refund(life);
  }

  /** The windows of a tenant and its keys; the tenant's own has no key. */
  windowsOf({ tenantId }: TenantScope, keyIds: Iterable<string>): readonly WindowHistory[] {
    const { monotonicMs } = this.#now();
    const histories: WindowHistory[] = [];
    const own = this.#tenants.peek(tenantId);
    if (own !== undefined) histories.push({ keyId: '', ...own.history(monotonicMs) });
    for (const keyId of keyIds) {
      const window = this.#keys.peek(keyId);
      if (window !== undefined) histories.push({ keyId, ...window.history(monotonicMs) });
    }
    return histories.filter(({ counts }) => counts.length > 0);
  }

  mergeWindows({ tenantId }: TenantScope, histories: readonly WindowHistory[]): void {
    const { monotonicMs } = this.#now();
    for (const { keyId, agesMs, counts } of histories) {
      const window = keyId === '' ? this.#tenants.window(tenantId) : this.#keys.window(keyId);
      window.merge(monotonicMs, agesMs, counts);
    }
  }

  /** Another process counts the tenant from now on. */
  forgetTenant(scope: TenantScope, keyIds: Iterable<string>, rest: 'given back' | 'spent'): void {
    const { wallMs } = this.#now();
    this.#tenants.drop(scope.tenantId);
    for (const subject of [dayOf(wallMs), dayOf(wallMs - dayMs)]) this.#days.drop(scope, subject, rest);
    for (const keyId of keyIds) {
      this.#keys.drop(keyId);
      this.#lives.drop(scope, keyId, rest);
    }
  }

  /** Model work of a tenant, also without a signed-in caller. */
  admitTenantWork(scope: TenantScope, limits: WorkLimits, key?: CountedKey): Admitted | Promise<Admitted> {
    return this.tryTenantWork(scope, limits, key) ?? this.#afterPreparing(scope, limits, key);
  }

  figuresOfAddress(address: string): RateFigures {
    return this.#addresses.figures(addressGroup(address), addressRequestsPerMinute);
  }

  dropIdle(): void {
    const nowMs = this.#time.monotonicMs();
    for (const windows of [this.#keys, this.#tenants]) windows.dropIdle(nowMs);
    for (const windows of [this.#users, this.#addresses]) windows.dropIdle();
    this.#days.dropIdle();
    this.#lives.dropIdle();
  }

  /** Checks and counts in one tick, so that nothing happens in between; undefined if a block must be taken first. */
  tryTenantWork(scope: TenantScope, limits: WorkLimits, key: CountedKey | undefined): Admitted | undefined {
    const now = this.#now();
    const window = this.#tenants.window(scope.tenantId);
    if (window.used(now.monotonicMs) >= limits.requestsPerMinute) {
      return windowFull(window, limits.requestsPerMinute, now);
    }
    const day = this.#dayOf(scope, limits, now);
    const dayStanding = day === undefined ? 'has-room' : this.#days.standing(day);
    if (dayStanding === 'used-up') return rateLimited(limits.requestsPerDay, nextDayMs(now.wallMs), now);
    const life = lifeOf(key);
    const lifeStanding = life === undefined ? 'has-room' : this.#lives.standing(life);
    if (life !== undefined && lifeStanding === 'used-up') {
      return quotaExceeded({ limit: life.limit, used: this.#lives.used(life) }, null, now);
    }
    if (dayStanding === 'unknown' || lifeStanding === 'unknown') return undefined;
    window.add(now.monotonicMs);
    if (day !== undefined) this.#days.grant(day);
    if (life !== undefined) this.#lives.grant(life);
    return key === undefined
      ? { figures: figuresOf(window, limits.requestsPerMinute, now) }
      : { figures: figuresOf(this.#keys.peek(key.keyId), key.requestsPerMinute, now) };
  }

  async #afterPreparing(
    scope: TenantScope,
    limits: WorkLimits,
    key: CountedKey | undefined,
  ): Promise<Admitted> {
    for (;;) {
      await this.#prepare(scope, limits, key);
      // A request that resumed earlier may have taken the whole block; each round grants at least one or reaches the limit.
      const admitted = this.tryTenantWork(scope, limits, key);
      if (admitted !== undefined) return admitted;
    }
  }

  async #prepare(scope: TenantScope, limits: WorkLimits, key: CountedKey | undefined): Promise<void> {
    const now = this.#now();
    const day = this.#dayOf(scope, limits, now);
    const life = lifeOf(key);
    try {
      const blocks = Promise.all([
        day !== undefined && this.#days.standing(day) === 'unknown' ? this.#days.prepare(day) : undefined,
        life !== undefined && this.#lives.standing(life) === 'unknown'
          ? this.#lives.prepare(life)
          : undefined,
      ]);
      // A block that arrives later serves later requests.
      await within(this.#time, patienceMs, blocks, () => {
        throw new Error('no block was recorded in time');
      });
    } catch (cause) {
      // If the count cannot be kept, nothing is admitted.
      throw new PlatformError('service_unavailable', { retryAfterSeconds: 1, cause });
    }
  }

  #dayOf(scope: TenantScope, limits: WorkLimits, now: Now): Countable | undefined {
    if (!this.#dailyLimits) return undefined;
    return { scope, subject: dayOf(now.wallMs), limit: limits.requestsPerDay };
  }

  #now(): Now {
    return { monotonicMs: this.#time.monotonicMs(), wallMs: this.#time.wallMs() };
  }
}

function refusedWorkOf({ scope, userId }: TenantUserCaller): string {
  return `${scope.tenantId}/${userId} refused work`;
}

function count(windows: WindowSet<SlidingWindow>, name: string, limit: number, now: Now): Admitted {
  const window = windows.window(name);
  if (window.used(now.monotonicMs) >= limit) return windowFull(window, limit, now);
  window.add(now.monotonicMs);
  return { figures: figuresOf(window, limit, now) };
}

function look(windows: WindowSet<SlidingWindow>, tenantId: string, limits: WorkLimits, now: Now): Admitted {
  const window = windows.peek(tenantId);
  const limit = limits.requestsPerMinute;
  if (window !== undefined && window.used(now.monotonicMs) >= limit) return windowFull(window, limit, now);
  return { figures: figuresOf(window, limit, now) };
}

function lifeOf(key: CountedKey | undefined): Countable | undefined {
  if (key === undefined || key.quotaLimit === null) return undefined;
  return { scope: key.scope, subject: key.keyId, limit: key.quotaLimit };
}
