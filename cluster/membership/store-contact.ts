import type { ClusterConfig } from '../config.js';
import type { Time, Timer } from '../time/time.js';
import { answerWithin } from '../time/within.js';
import { ClusterError } from '../errors.js';
import { GenerationCheck, type GenerationHost } from './generation-check.js';
import { instantOf, LeaseClock, type Instant } from './lease-clock.js';
import type { Lease, MemberStore, Snapshot, ViewNumbers } from './member-store.js';
import type { Poll } from './observer.js';
import type { View } from './membership.js';

export interface ContactHost extends GenerationHost {
  /** The content of the next renewal. */
  lease(renewals: number): Lease;
  renewed(start: Instant): void;
  refused(): void;
  observe(snapshot: Snapshot, poll: Poll): void;
  /** `isFirst`: since a renewal last counted. */
  failed(error: unknown, isFirst: boolean): void;
  back(awayMs: number): void;
  /** The member store is an old one, which the cluster no longer uses. */
  outdated(generation: string): void;
  isOver(): boolean;
}

/**
 * How long after a hinted read the next one waits. All members get each hint, and each reads all members: in a large
 * cluster the reads of a restart would keep Redis from renewing leases. A small one reads at each hint.
 */
function hintPauseMs(config: ClusterConfig, members: number): number {
  if (members <= config.neighboursMax + 1) return 0;
  return Math.min(config.viewPollMs, (members * 1_000) / config.hintedReadsMax);
}

/** How often the members are read. */
function pollMs(config: ClusterConfig, isUrgent: boolean): number {
  return isUrgent ? config.viewPollMs / 4 : config.viewPollMs;
}

/** How often to check whether anything is due. */
export function tickMs(config: ClusterConfig, isUrgent: boolean): number {
  const normalMs = Math.min(config.confirmRetryMs, config.leaseRenewMs / 4);
  return isUrgent ? Math.min(normalMs, pollMs(config, isUrgent)) : normalMs;
}

/**
 * Talks to the member store: renews, polls, follows hints. At most one renewal and one poll run at a time. An answer
 * after its time-out is dropped, because a newer answer may have arrived before it; so is one of an outdated store.
 */
export class StoreContact {
  readonly #store: MemberStore;
  readonly #time: Time;
  readonly #config: ClusterConfig;
  readonly #host: ContactHost;
  readonly #age: LeaseClock;
  readonly #generations: GenerationCheck;
  #unsubscribe: (() => void) | undefined;
  #renewals = 0;
  #knownGeneration: string | undefined;
  #renewing = false;
  #renewAtMs = 0;
  #polledAtMs = 0;
  #polling: Promise<boolean> | undefined;
  #hinted = false;
  #hintedAtMs = Number.NEGATIVE_INFINITY;
  #hintTimer: Timer | undefined;
  /** Workers of the view that the last answer showed. */
  #members = 0;
  #failedAtMs: number | undefined;
  #outdated: string | undefined;
  lastError: unknown;

  constructor(
    store: MemberStore,
    numbers: ViewNumbers,
    time: Time,
    config: ClusterConfig,
    host: ContactHost,
  ) {
    this.#store = store;
    this.#time = time;
    this.#config = config;
    this.#host = host;
    this.#age = new LeaseClock(time);
    this.#generations = new GenerationCheck(numbers, time, config, host);
  }

  /** Time since the start of the last renewal that the store confirmed. */
  ageMs(): number {
    return this.#age.ageMs();
  }

  /** The generation in which renewals count. */
  get generation(): string | undefined {
    return this.#generations.counting;
  }

  isAway(): boolean {
    return this.ageMs() >= this.#config.memberStoreAwayMs;
  }

  start(): void {
    this.#unsubscribe = this.#store.onChange(() => this.#onHint());
  }

  stop(): void {
    this.#unsubscribe?.();
    this.#hintTimer?.cancel();
  }

  /** Called often; does what is due. `isUrgent`: a process may be gone, so each moment counts. */
  tick(isUrgent: boolean): void {
    const nowMs = this.#time.monotonicMs();
    if (nowMs >= this.#renewAtMs) void this.renew();
    else if (nowMs - this.#polledAtMs >= pollMs(this.#config, isUrgent)) void this.poll();
  }

  /** The next renewal re-creates the lease, even if the store knows it as removed. */
  forgetGeneration(): void {
    this.#knownGeneration = undefined;
  }

  async renew(): Promise<void> {
    if (this.#renewing || this.#host.isOver()) return;
    this.#renewing = true;
    const start = instantOf(this.#time);
    this.#renewAtMs = start.monotonicMs + this.#config.leaseRenewMs;
    this.#polledAtMs = start.monotonicMs;
    this.#renewals += 1;
    const wasAway = this.ageMs() < Number.POSITIVE_INFINITY && this.isAway();
    try {
      const newest = this.#generations.newest();
      const renewal = this.#store.renew(
        this.#host.lease(this.#renewals),
        this.#knownGeneration,
        this.#generations.abandoned,
      );
      const answer = await this.#bounded('renewing the lease', renewal);
      if (this.#host.isOver()) return;
      const verdict = await this.#generations.judge(answer.generation, newest);
      if (this.#host.isOver()) return;
      if (verdict !== 'counts') {
        this.#dropped(answer.generation, verdict);
        return;
      }
      // After an outage the first renewal cannot say that its sender is free; the next one can.
      if (answer.late || wasAway) this.#renewAtMs = start.monotonicMs;
      if (answer.renewed) this.#renewed(start, answer.generation);
      else if (!answer.late) this.#host.refused();
      if (!this.#host.isOver()) this.#observe(answer, start, true);
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#renewing = false;
    }
  }

  poll(): Promise<boolean> {
    this.#polling ??= this.#pollOnce().finally(() => {
      this.#polling = undefined;
      if (!this.#hinted) return;
      this.#hinted = false;
      this.#onHint();
    });
    return this.#polling;
  }

  /** The store lost the view, or failed over to a replica that does not have it. */
  async restore(view: View, generation: string): Promise<void> {
    try {
      const publication = this.#store.publish(view, { generation, follows: undefined });
      await this.#bounded('restoring the view', publication);
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

  async #pollOnce(): Promise<boolean> {
    if (this.#host.isOver()) return false;
    const start = instantOf(this.#time);
    this.#polledAtMs = start.monotonicMs;
    try {
      const snapshot = await this.#bounded('reading the members', this.#store.snapshot());
      if (this.#host.isOver()) return false;
      // What a process sees counts no longer than its renewals do.
      if (this.isAway() || !this.#generations.isCounting(snapshot.generation)) {
        this.#renewAtMs = start.monotonicMs;
        return false;
      }
      this.#observe(snapshot, start, false);
      return true;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  #observe(snapshot: Snapshot, start: Instant, isCompared: boolean): void {
    this.#members = snapshot.view?.members.length ?? 0;
    const receivedMs = this.#time.monotonicMs();
    this.#host.observe(snapshot, { startedMs: start.monotonicMs, receivedMs, isCompared });
  }

  #dropped(generation: string, verdict: 'outdated' | 'unknown'): void {
    const reason =
      verdict === 'outdated'
        ? 'the cluster uses another Redis now; check that the address leads to the current master'
        : 'the durable store cannot tell whether this Redis is the current one, and too few workers renew in it';
    this.#failed(new ClusterError('membership_unavailable', reason));
    if (verdict === 'unknown') return;
    if (this.#outdated !== generation) this.#host.outdated(generation);
    this.#outdated = generation;
    // Finds the promoted replica, if the address names sentinels or a cluster.
    this.#store.reconnect();
  }

  #onHint(): void {
    if (this.#host.isOver() || this.#hintTimer !== undefined) return;
    if (this.#polling !== undefined) {
      this.#hinted = true;
      return;
    }
    const nowMs = this.#time.monotonicMs();
    const pauseMs = this.#hintedAtMs + hintPauseMs(this.#config, this.#members) - nowMs;
    if (pauseMs <= 0) {
      this.#hintedAtMs = nowMs;
      void this.poll();
      return;
    }
    this.#hintTimer = this.#time.after(pauseMs, () => {
      this.#hintTimer = undefined;
      this.#onHint();
    });
  }

  #failed(error: unknown): void {
    this.lastError = error;
    const isFirst = this.#failedAtMs === undefined;
    this.#failedAtMs ??= this.#time.monotonicMs();
    this.#host.failed(error, isFirst);
  }

  #bounded<Result>(what: string, work: Promise<Result>): Promise<Result> {
    return answerWithin(this.#time, this.#config.memberStoreTimeoutMs, what, work);
  }
}
