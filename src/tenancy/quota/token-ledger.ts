import { whenReady, type Ready, isReady } from '../../kernel/ready.js';
import type { Time, Timer } from '../../../cluster/index.js';
import { monthOf } from './calendar.js';

/**
 * The tokens of one tenant's month. The usage rows hold the used tokens; this ledger adds the tokens that running calls
 * have reserved, so that a hundred concurrent calls cannot each find the same room.
 *
 * A call is admitted while used and reserved tokens are below the limit, and may then exceed it. If only reservations
 * stand in the way, it waits for one of them to end: a refusal means that the month is really used up. Reservations are
 * covered by a hold that was committed before them, so that a dead owner leaves its successor an upper bound of what may
 * still be under way. Once every reservation must have its row, the open rows tell the exact number.
 */
export interface Reservation {
  readonly attemptId: string;
  readonly process: string;
  readonly tokens: number;
  readonly withinMs: number;
}

export interface TokenClaim extends Reservation {
  readonly monthlyLimit: number;
  /** Part of admitted work. */
  readonly alreadyAdmitted: boolean;
}

export type Reserved =
  | { readonly outcome: 'reserved' }
  | { readonly outcome: 'used up'; readonly used: number }
  /** Other reservations take all that is left, and none ended in time. */
  | { readonly outcome: 'busy' };

export interface TokenLedgerParts {
  readonly time: Time;
  /** Reads a month's used tokens from the store. */
  readonly read: (month: string) => Promise<number>;
  /** Commits that up to `tokens` may be reserved for `forMs`. */
  readonly hold: (tokens: number, forMs: number) => Promise<void>;
  /** The upper bound of an earlier owner's reservations. */
  readonly inherited: Bound;
}

/** An upper bound of reserved tokens, and its duration. */
export interface Bound {
  readonly tokens: number;
  readonly forMs: number;
}

interface Kept extends Reservation {
  readonly untilMs: number;
}

interface Waiter {
  readonly claim: TokenClaim;
  readonly resolve: (reserved: Ready<Reserved>) => void;
  readonly timer: Timer;
}

/** The maximum age of the store's figure: other processes add to it only after a process died. */
const freshMs = 1_000;
/** A call that ended without settling still counts until its row is certainly closed. */
const closingMs = 60_000;
const patienceMs = 10_000;
const waitersMax = 1_000;
/** Makes renewals of a hold rare: it exceeds the current need by a share of the limit, and by minutes. */
const holdShare = 50;
const holdSlackMs = 600_000;
const settledForMs = 10_000;
/** Within this time an attempt has its row or is not made: a wait, a commit, and the delay of a slow machine. */
const openingMs = 30_000;

const reserved: Reserved = { outcome: 'reserved' };

export class TokenLedger {
  readonly #parts: TokenLedgerParts;
  readonly #kept = new Map<string, Kept>();
  #reserved = 0;
  /** The upper bound of an earlier owner's reservations, until each of them is known. */
  #bound: { tokens: number; readonly untilMs: number } | undefined;
  readonly #sinceMs: number;
  /** Calls that ended without settling, until their rows are closed. */
  #closing: { readonly tokens: number; readonly untilMs: number }[] = [];
  /** Pending answers, by attempt: a repeated request joins. */
  readonly #asked = new Map<string, Promise<Reserved>>();
  #held = 0;
  #heldUntilMs = Number.NEGATIVE_INFINITY;
  #holding: Promise<void> | undefined;
  #month = '';
  /** The store's figure of the month. At least these are used. */
  #stored: number | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  /** All settled tokens, and those of them that the store's figure certainly includes. */
  #settledTokens = 0;
  #settledRead = 0;
  #reading: { readonly month: string; readonly done: Promise<number> } | undefined;
  #waiters: Waiter[] = [];
  #readsForWaiters = false;
  /** Recently settled attempts, in two generations: a repeat counts nothing. */
  #settled = new Set<string>();
  #settledBefore = new Set<string>();
  #settledSinceMs = 0;

  constructor(parts: TokenLedgerParts) {
    this.#parts = parts;
    this.#sinceMs = parts.time.monotonicMs();
    const { tokens, forMs } = parts.inherited;
    if (tokens > 0 && forMs > 0) this.#bound = { tokens, untilMs: this.#sinceMs + forMs };
  }

  /** Nothing is reserved or waits, and no unknown reservation can exist. */
  get isIdle(): boolean {
    return this.#kept.size === 0 && this.#waiters.length === 0 && this.knowsAll && this.#closing.length === 0;
  }

  /** Every reservation of this tenant is known. */
  get knowsAll(): boolean {
    return this.#boundTokens() === 0;
  }

  /** The open rows now include everything that an earlier owner had reserved. */
  get mayRecover(): boolean {
    return !this.knowsAll && this.#parts.time.monotonicMs() - this.#sinceMs >= openingMs;
  }

  /** All tokens that count beside the used ones. */
  get reservedTokens(): number {
    const nowMs = this.#parts.time.monotonicMs();
    const closing = this.#closing.reduce(
      (sum, { tokens, untilMs }) => sum + (untilMs > nowMs ? tokens : 0),
      0,
    );
    return this.#reserved + this.#boundTokens() + closing;
  }

  used(): Ready<number> {
    const { time } = this.#parts;
    const month = this.#turnMonth();
    if (this.#stored !== undefined && time.monotonicMs() - this.#readAtMs < freshMs) {
      return this.#mostUsed(this.#stored);
    }
    if (this.#reading?.month !== month) {
      const reading = { month, done: this.#read(month) };
      this.#reading = reading;
      const over = (): void => {
        if (this.#reading === reading) this.#reading = undefined;
      };
      reading.done.then(over, over);
    }
    return this.#reading?.done ?? this.used();
  }

  /** The same, exact if it reaches the limit: a refusal must rest on the store's own figure. */
  usedOf(limit: number): Ready<number> {
    return whenReady(this.used(), (used) => {
      if (used < limit || this.#isSure) return used;
      return whenReady(this.#readAgain(), (again) => this.#stored ?? again);
    });
  }

  reserve(claim: TokenClaim): Ready<Reserved> {
    const { attemptId } = claim;
    const asked = this.#asked.get(attemptId);
    if (asked !== undefined) return asked;
    // The attempt is reserved already, or has ended: this is a repeated request.
    if (this.#kept.has(attemptId) || this.#wasSettled(attemptId)) return reserved;
    const answer = this.#decide(claim);
    if (isReady(answer)) return answer;
    this.#asked.set(attemptId, answer);
    const over = (): void => void this.#asked.delete(attemptId);
    answer.then(over, over);
    return answer;
  }

  #decide(claim: TokenClaim): Ready<Reserved> {
    if (claim.alreadyAdmitted) return this.#keep(claim);
    return whenReady(this.used(), () => {
      if (this.#waiters.length === 0) {
        const answer = this.#answerNow(claim);
        if (answer !== undefined) return answer;
      }
      const waiting = this.#wait(claim);
      this.#wake();
      return waiting;
    });
  }

  /** Undefined if the call must wait: for the end of another one, or for the store's figure. */
  #answerNow(claim: TokenClaim): Ready<Reserved> | undefined {
    this.#turnMonth();
    const stored = this.#stored;
    if (stored === undefined) return undefined;
    // Settlements since the read may be counted twice: only the store's own figure refuses.
    if (stored >= claim.monthlyLimit) return { outcome: 'used up', used: stored };
    const hasRoom = this.#mostUsed(stored) + this.reservedTokens < claim.monthlyLimit;
    return hasRoom ? this.#keep(claim) : undefined;
  }

  /** The attempt has ended and its row is closed: its reservation ends, and its used tokens count at once. */
  settle(attemptId: string, reservedBefore: number, tokens: number): void {
    if (this.#isRepeat(attemptId)) return;
    this.#settledTokens += tokens;
    const kept = this.#kept.get(attemptId);
    if (kept !== undefined) this.#drop(kept);
    else if (this.#bound !== undefined) this.#bound.tokens = Math.max(0, this.#bound.tokens - reservedBefore);
    this.#wake();
  }

  /** Ends reservations whose deadline has passed or whose process is gone. */
  sweep(isGone: (process: string) => boolean): void {
    const nowMs = this.#parts.time.monotonicMs();
    for (const kept of this.#kept.values()) {
      if (kept.untilMs > nowMs && !isGone(kept.process)) continue;
      // A sweep of the usage rows closes its row with the estimate later.
      this.#drop(kept);
      this.#closing.push({ tokens: kept.tokens, untilMs: nowMs + closingMs });
    }
    this.#closing = this.#closing.filter(({ untilMs }) => untilMs > nowMs);
    this.#wake();
  }

  /** The reservations for the next owner. */
  leftovers(): readonly Reservation[] {
    const nowMs = this.#parts.time.monotonicMs();
    return [...this.#kept.values()].map(({ untilMs, ...kept }) => ({
      ...kept,
      withinMs: Math.max(0, untilMs - nowMs),
    }));
  }

  /** Adds reservations from the earlier owner or the open rows. If these are `all`, the bound is no longer needed. */
  takeOver(leftovers: readonly Reservation[], all: boolean): void {
    if (all) this.#bound = undefined;
    for (const one of leftovers) {
      if (!this.#kept.has(one.attemptId) && !this.#wasSettled(one.attemptId)) this.#remember(one);
    }
    this.#wake();
  }

  /** Admits nothing any more. */
  close(): void {
    for (const { timer, resolve } of this.#waiters.splice(0)) {
      timer.cancel();
      resolve({ outcome: 'busy' });
    }
  }

  async #read(month: string): Promise<number> {
    const { time, read } = this.#parts;
    const readAtMs = time.monotonicMs();
    const settledBefore = this.#settledTokens;
    const stored = await read(month);
    if (month !== this.#month) return stored;
    // The figure may or may not include a settlement during the read.
    this.#stored = stored;
    this.#settledRead = settledBefore;
    this.#readAtMs = readAtMs;
    return this.#mostUsed(stored);
  }

  /** Forgets the figure of a month that is over. */
  #turnMonth(): string {
    const month = monthOf(this.#parts.time.wallMs());
    if (month !== this.#month) {
      this.#month = month;
      this.#stored = undefined;
    }
    return month;
  }

  /** The highest possible sum: settlements since the read may be part of the store's figure already. */
  #mostUsed(stored: number): number {
    return stored + this.#settledTokens - this.#settledRead;
  }

  /** Every settlement is part of the store's figure. */
  get #isSure(): boolean {
    return this.#stored !== undefined && this.#settledRead === this.#settledTokens;
  }

  #readAgain(): Ready<number> {
    this.#readAtMs = Number.NEGATIVE_INFINITY;
    return this.used();
  }

  /** For the waiting calls, whose room the sum may hide. */
  async #readForWaiters(): Promise<void> {
    this.#readsForWaiters = true;
    try {
      await this.#readAgain();
    } catch {
      // The next settlement or sweep tries again; until then they wait.
      return;
    } finally {
      this.#readsForWaiters = false;
    }
    this.#wake();
  }

  #keep(claim: TokenClaim): Ready<Reserved> {
    const kept = this.#remember(claim);
    if (this.#reserved <= this.#held && kept.untilMs <= this.#heldUntilMs) return reserved;
    return this.#hold(claim.monthlyLimit, kept.untilMs).then(
      () => reserved,
      (error: unknown) => {
        // Without a hold the reservation is not admitted.
        this.#drop(kept);
        this.#wake();
        throw error;
      },
    );
  }

  #remember({ attemptId, process, tokens, withinMs }: Reservation): Kept {
    const kept = {
      attemptId,
      process,
      tokens,
      withinMs,
      untilMs: this.#parts.time.monotonicMs() + withinMs,
    };
    this.#kept.set(attemptId, kept);
    this.#reserved += tokens;
    return kept;
  }

  #drop(kept: Kept): void {
    if (this.#kept.delete(kept.attemptId)) this.#reserved -= kept.tokens;
  }

  /** One commit at a time covers all reservations that arrived in the meantime. */
  async #hold(limit: number, untilMs: number): Promise<void> {
    while (this.#reserved > this.#held || untilMs > this.#heldUntilMs) {
      this.#holding ??= this.#holdMore(limit, untilMs).finally(() => (this.#holding = undefined));
      await this.#holding;
    }
  }

  async #holdMore(limit: number, untilMs: number): Promise<void> {
    // Asks in the next tick, when the number of waiting reservations is known.
    await Promise.resolve();
    const tokens = Math.ceil(this.#reserved * 1.5 + limit / holdShare);
    const inherited = this.#boundTokens() + this.#closing.reduce((sum, one) => sum + one.tokens, 0);
    const nowMs = this.#parts.time.monotonicMs();
    const forMs = Math.max(untilMs, this.#heldUntilMs) - nowMs + holdSlackMs;
    await this.#parts.hold(tokens + inherited, forMs);
    this.#held = tokens;
    this.#heldUntilMs = nowMs + forMs;
  }

  #wait(claim: TokenClaim): Ready<Reserved> {
    if (this.#waiters.length >= waitersMax) return { outcome: 'busy' };
    return new Promise<Reserved>((resolve) => {
      const timer = this.#parts.time.after(patienceMs, () => {
        this.#waiters = this.#waiters.filter((one) => one !== waiter);
        resolve({ outcome: 'busy' });
      });
      const waiter: Waiter = { claim, timer, resolve };
      this.#waiters.push(waiter);
    });
  }

  /** Wakes waiting calls in their order of arrival, as far as there is room. */
  #wake(): void {
    for (let next = this.#waiters[0]; next !== undefined; next = this.#waiters[0]) {
      const { claim, timer, resolve } = next;
      const answer = this.#answerNow(claim);
      if (answer === undefined) break;
      this.#waiters.shift();
      timer.cancel();
      resolve(answer);
    }
    if (this.#waiters.length > 0 && !this.#isSure && !this.#readsForWaiters) void this.#readForWaiters();
  }

  #boundTokens(): number {
    const bound = this.#bound;
    return bound === undefined || bound.untilMs <= this.#parts.time.monotonicMs() ? 0 : bound.tokens;
  }

  #isRepeat(attemptId: string): boolean {
    const nowMs = this.#parts.time.monotonicMs();
    if (nowMs - this.#settledSinceMs > settledForMs) {
      this.#settledBefore = this.#settled;
      this.#settled = new Set();
      this.#settledSinceMs = nowMs;
    }
    if (this.#wasSettled(attemptId)) return true;
    this.#settled.add(attemptId);
    return false;
  }

  #wasSettled(attemptId: string): boolean {
    return this.#settled.has(attemptId) || this.#settledBefore.has(attemptId);
  }
}
