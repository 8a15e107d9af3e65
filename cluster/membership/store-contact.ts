import type { ClusterConfig } from '../config.js';
import type { Time } from '../time/time.js';
import { within } from '../time/within.js';
import { instantOf, LeaseClock, type Instant } from './lease-clock.js';
import type { Lease, MemberStore, Snapshot } from './member-store.js';
import type { View } from './membership.js';

export interface ContactHost {
  /** What the next renewal says of this process. */
  lease(renewals: number): Lease;
  renewed(start: Instant): void;
  refused(): void;
  observe(snapshot: Snapshot, start: Instant): void;
  failed(error: unknown): void;
  back(awayMs: number): void;
  isOver(): boolean;
}

/** How often the members are looked at. */
function lookMs(config: ClusterConfig, isAmiss: boolean): number {
  return isAmiss ? config.viewPollMs / 4 : config.viewPollMs;
}

/** How often it is looked whether anything is due. */
export function tickMs(config: ClusterConfig, isAmiss: boolean): number {
  const calmMs = Math.min(config.confirmRetryMs, config.leaseRenewMs / 4);
  return isAmiss ? Math.min(calmMs, lookMs(config, isAmiss)) : calmMs;
}

/**
 * Talks to the member store: renews, looks, follows hints. One renewal and one look are under way at a time;
 * an answer that comes after its bound is dropped, since a newer question may have been answered by then.
 */
export class StoreContact {
  readonly #store: MemberStore;
  readonly #time: Time;
  readonly #config: ClusterConfig;
  readonly #host: ContactHost;
  readonly #age: LeaseClock;
  #unsubscribe: (() => void) | undefined;
  #renewals = 0;
  #knownGeneration: string | undefined;
  #beating = false;
  #beatAtMs = 0;
  #lookedAtMs = 0;
  #looking: Promise<boolean> | undefined;
  #hinted = false;
  #failedAtMs: number | undefined;
  lastError: unknown;

  constructor(store: MemberStore, time: Time, config: ClusterConfig, host: ContactHost) {
    this.#store = store;
    this.#time = time;
    this.#config = config;
    this.#host = host;
    this.#age = new LeaseClock(time);
  }

  /** Since the start of the last renewal that the store confirmed. */
  ageMs(): number {
    return this.#age.ageMs();
  }

  isAway(): boolean {
    return this.ageMs() >= this.#config.memberStoreAwayMs;
  }

  start(): void {
    this.#unsubscribe = this.#store.onChange(() => this.#onHint());
  }

  stop(): void {
    this.#unsubscribe?.();
  }

  /** Called often; does what is due. `isAmiss`: somebody may be gone, and each moment counts. */
  tick(isAmiss: boolean): void {
    const nowMs = this.#time.monotonicMs();
    if (nowMs >= this.#beatAtMs) void this.beat();
    else if (nowMs - this.#lookedAtMs >= lookMs(this.#config, isAmiss)) void this.look();
  }

  /** The next renewal makes the lease anew, though the store may know it to be taken away. */
  forgetGeneration(): void {
    this.#knownGeneration = undefined;
  }

  async beat(): Promise<void> {
    if (this.#beating || this.#host.isOver()) return;
    this.#beating = true;
    const start = instantOf(this.#time);
    this.#beatAtMs = start.monotonicMs + this.#config.leaseRenewMs;
    this.#lookedAtMs = start.monotonicMs;
    this.#renewals += 1;
    try {
      const renewal = this.#store.renew(this.#host.lease(this.#renewals), this.#knownGeneration);
      const answer = await this.#bounded('renewing the lease', renewal);
      if (this.#host.isOver()) return;
      if (answer.renewed) this.#renewed(start, answer.generation);
      else this.#host.refused();
      if (!this.#host.isOver()) this.#host.observe(answer, start);
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#beating = false;
    }
  }

  look(): Promise<boolean> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined;
      if (!this.#hinted) return;
      this.#hinted = false;
      this.#onHint();
    });
    return this.#looking;
  }

  /** The store forgot the view, or failed over to a copy that had not heard of it. */
  async bringBack(view: View, generation: string): Promise<void> {
    try {
      const publication = this.#store.publish(view, { generation, follows: undefined });
      await this.#bounded('bringing the view back', publication);
    } catch (error) {
      this.#failed(error);
    }
  }

  #renewed(start: Instant, generation: string): void {
    this.#knownGeneration = generation;
    this.#age.extend(start);
    this.#host.renewed(start);
    if (this.#failedAtMs === undefined) return;
    const awayMs = this.#time.monotonicMs() - this.#failedAtMs;
    this.#failedAtMs = undefined;
    this.#host.back(awayMs);
  }

  async #lookOnce(): Promise<boolean> {
    if (this.#host.isOver()) return false;
    const start = instantOf(this.#time);
    this.#lookedAtMs = start.monotonicMs;
    try {
      const snapshot = await this.#bounded('looking at the members', this.#store.snapshot());
      if (this.#host.isOver()) return false;
      this.#host.observe(snapshot, start);
      return true;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  #onHint(): void {
    if (this.#host.isOver()) return;
    if (this.#looking === undefined) void this.look();
    else this.#hinted = true;
  }

  #failed(error: unknown): void {
    this.lastError = error;
    this.#failedAtMs ??= this.#time.monotonicMs();
    this.#host.failed(error);
  }

  #bounded<Result>(what: string, work: Promise<Result>): Promise<Result> {
    return within(this.#time, this.#config.memberStoreTimeoutMs, what, work);
  }
}
