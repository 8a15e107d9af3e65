import { whenReady, type Ready } from '../../kernel/ready.js';
import type { Time, Timer } from '../../../cluster/index.js';
import { monthOf } from './calendar.js';

/**
 * The tokens of one tenant's month. What was used is in the usage rows; this book adds what calls under way have
 * reserved, so that a hundred calls at once cannot each find the same room.
 *
 * A call is let in while used and reserved are below the limit, and is served whole. Where only reservations stand in
 * the way, it waits for one of them to end: a refusal is for a month that is really used up. Whatever is reserved was
 * committed ahead as a hold, so that an owner that dies leaves its successor a bound of what may still be under way;
 * once every reservation must have its row, the rows that are open tell it exactly.
 */
export interface Reservation {
  readonly attemptId: string;
  readonly process: string;
  readonly tokens: number;
  readonly withinMs: number;
}

export interface TokenClaim extends Reservation {
  readonly monthlyLimit: number;
  /** Part of work that was let in before. */
  readonly letIn: boolean;
}

export type Reserved =
  | { readonly outcome: 'reserved' }
  | { readonly outcome: 'used up'; readonly used: number }
  /** Reservations of others take all that is left, and none ended in time. */
  | { readonly outcome: 'busy' };

export interface TokenLedgerParts {
  readonly time: Time;
  /** Used in a month, from the store. */
  readonly read: (month: string) => Promise<number>;
  /** Commits that so many tokens may be reserved for so long. */
  readonly hold: (tokens: number, forMs: number) => Promise<void>;
  /** What an earlier owner may have reserved. */
  readonly inherited: Bound;
}

/** So many tokens may be reserved, by whomever, for so long. */
export interface Bound {
  readonly tokens: number;
  readonly forMs: number;
}

interface Kept extends Reservation {
  readonly untilMs: number;
}

interface Waiter {
  readonly wish: TokenClaim;
  readonly resolve: (reserved: Ready<Reserved>) => void;
  readonly timer: Timer;
}

/** So old may the figure be that the store gave: others add to it only where a process died. */
const freshMs = 1_000;
/** What ended without a word is still counted until its row is surely closed. */
const closingMs = 60_000;
const patienceMs = 10_000;
const waitersMax = 1_000;
/** A hold is rarely renewed: a share of the limit, and minutes, beyond what is needed now. */
const holdShare = 50;
const holdSlackMs = 600_000;
const settledForMs = 10_000;
/** So long after it was reserved an attempt has its row, or is not made: a wait, a commit, and a machine that is slow. */
const openingMs = 30_000;

const reserved: Reserved = { outcome: 'reserved' };

export class TokenLedger {
  readonly #parts: TokenLedgerParts;
  readonly #kept = new Map<string, Kept>();
  #reserved = 0;
  /** What an earlier owner may have reserved, as long as nobody here knows it one by one. */
  #bound: { tokens: number; readonly untilMs: number } | undefined;
  readonly #sinceMs: number;
  /** Of calls that ended without a word, until their rows are closed. */
  #closing: { readonly tokens: number; readonly untilMs: number }[] = [];
  /** Answers that are not there yet, by attempt: whoever asks again joins. */
  readonly #asked = new Map<string, Promise<Reserved>>();
  #held = 0;
  #heldUntilMs = Number.NEGATIVE_INFINITY;
  #holding: Promise<void> | undefined;
  #month = '';
  #used: number | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  /** All that were told of, and those of them that the figure of the store had surely counted. */
  #settlements = 0;
  #settlementsRead = 0;
  #reading: { readonly month: string; readonly done: Promise<number> } | undefined;
  #waiters: Waiter[] = [];
  /** Settled lately, and before that: a repeat counts nothing. */
  #settled = new Set<string>();
  #settledBefore = new Set<string>();
  #settledSinceMs = 0;

  constructor(parts: TokenLedgerParts) {
    this.#parts = parts;
    this.#sinceMs = parts.time.monotonicMs();
    const { tokens, forMs } = parts.inherited;
    if (tokens > 0 && forMs > 0) this.#bound = { tokens, untilMs: this.#sinceMs + forMs };
  }

  /** Nothing is reserved or waits, and nothing may be that nobody here knows of. */
  get isIdle(): boolean {
    return this.#kept.size === 0 && this.#waiters.length === 0 && this.knowsAll && this.#closing.length === 0;
  }

  /** Every reservation of this tenant is known one by one. */
  get knowsAll(): boolean {
    return this.#boundTokens() === 0;
  }

  /** The rows that are open now hold all that an earlier owner had reserved. */
  get mayRecover(): boolean {
    return !this.knowsAll && this.#parts.time.monotonicMs() - this.#sinceMs >= openingMs;
  }

  /** All that counts beside what was used. */
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
    const month = monthOf(time.wallMs());
    if (month !== this.#month) {
      this.#month = month;
      this.#used = undefined;
    }
    if (this.#used !== undefined && time.monotonicMs() - this.#readAtMs < freshMs) return this.#used;
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

  reserve(wish: TokenClaim): Ready<Reserved> {
    const { attemptId } = wish;
    const asked = this.#asked.get(attemptId);
    if (asked !== undefined) return asked;
    // One that has ended needs nothing any more: its question is a late repeat.
    if (this.#kept.has(attemptId) || this.#wasSettled(attemptId)) return reserved;
    const answer = this.#decide(wish);
    if (!(answer instanceof Promise)) return answer;
    this.#asked.set(attemptId, answer);
    const over = (): void => void this.#asked.delete(attemptId);
    answer.then(over, over);
    return answer;
  }

  #decide(wish: TokenClaim): Ready<Reserved> {
    if (wish.letIn) return this.#keep(wish);
    return whenReady(this.used(), (used) => {
      if (used < wish.monthlyLimit) return this.#take(wish, used);
      // What was added up here may be in the figure twice; a refusal is for a month that the store calls used up.
      if (this.#settlementsRead === this.#settlements) return { outcome: 'used up', used };
      this.#readAtMs = Number.NEGATIVE_INFINITY;
      return whenReady(this.used(), (surely) =>
        surely >= wish.monthlyLimit ? { outcome: 'used up', used: surely } : this.#take(wish, surely),
      );
    });
  }

  #take(wish: TokenClaim, used: number): Ready<Reserved> {
    if (this.#waiters.length === 0 && this.#hasRoom(wish, used)) return this.#keep(wish);
    return this.#wait(wish);
  }

  /** The attempt has ended and its row is closed: its reservation ends, what it used counts at once. */
  settle(attemptId: string, reservedBefore: number, tokens: number): void {
    if (this.#isRepeat(attemptId)) return;
    this.#settlements += 1;
    if (this.#used !== undefined) this.#used += tokens;
    const kept = this.#kept.get(attemptId);
    if (kept !== undefined) this.#drop(kept);
    else if (this.#bound !== undefined) this.#bound.tokens = Math.max(0, this.#bound.tokens - reservedBefore);
    this.#wake();
  }

  /** Ends what is over: its deadline has passed, or the process that made it is gone. */
  sweep(isGone: (process: string) => boolean): void {
    const nowMs = this.#parts.time.monotonicMs();
    for (const kept of this.#kept.values()) {
      if (kept.untilMs > nowMs && !isGone(kept.process)) continue;
      // Its row is closed with the estimate in a while, by whoever finds it.
      this.#drop(kept);
      this.#closing.push({ tokens: kept.tokens, untilMs: nowMs + closingMs });
    }
    this.#closing = this.#closing.filter(({ untilMs }) => untilMs > nowMs);
    this.#wake();
  }

  /** For the next owner. */
  leftovers(): readonly Reservation[] {
    const nowMs = this.#parts.time.monotonicMs();
    return [...this.#kept.values()].map(({ untilMs, ...kept }) => ({
      ...kept,
      withinMs: Math.max(0, untilMs - nowMs),
    }));
  }

  /** Told by the earlier owner, or by the rows that are open: where that is all there is, no bound is needed. */
  takeOver(leftovers: readonly Reservation[], all: boolean): void {
    if (all) this.#bound = undefined;
    for (const one of leftovers) {
      if (!this.#kept.has(one.attemptId) && !this.#wasSettled(one.attemptId)) this.#remember(one);
    }
    this.#wake();
  }

  /** Nobody is let in any more. */
  close(): void {
    for (const { timer, resolve } of this.#waiters.splice(0)) {
      timer.cancel();
      resolve({ outcome: 'busy' });
    }
  }

  async #read(month: string): Promise<number> {
    const { time, read } = this.#parts;
    const readAtMs = time.monotonicMs();
    const settlementsBefore = this.#settlements;
    const used = await read(month);
    if (month !== this.#month) return used;
    // A settlement on the way may be in the figure or not; what was added up here is whole.
    if (this.#used === undefined || this.#settlements === settlementsBefore) {
      this.#used = used;
      this.#settlementsRead = settlementsBefore;
    }
    this.#readAtMs = readAtMs;
    return this.#used;
  }

  #hasRoom({ monthlyLimit }: TokenClaim, used: number): boolean {
    return used + this.reservedTokens < monthlyLimit;
  }

  #keep(wish: TokenClaim): Ready<Reserved> {
    const kept = this.#remember(wish);
    if (this.#reserved <= this.#held && kept.untilMs <= this.#heldUntilMs) return reserved;
    return this.#hold(wish.monthlyLimit, kept.untilMs).then(
      () => reserved,
      (error: unknown) => {
        // What is not held ahead is not let in.
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

  /** One commit at a time covers all that came in meanwhile. */
  async #hold(limit: number, untilMs: number): Promise<void> {
    while (this.#reserved > this.#held || untilMs > this.#heldUntilMs) {
      this.#holding ??= this.#holdMore(limit, untilMs).finally(() => (this.#holding = undefined));
      await this.#holding;
    }
  }

  async #holdMore(limit: number, untilMs: number): Promise<void> {
    // Asked for in the next tick, when it is known how many wait.
    await Promise.resolve();
    const tokens = Math.ceil(this.#reserved * 1.5 + limit / holdShare);
    const inherited = this.#boundTokens() + this.#closing.reduce((sum, one) => sum + one.tokens, 0);
    const nowMs = this.#parts.time.monotonicMs();
    const forMs = Math.max(untilMs, this.#heldUntilMs) - nowMs + holdSlackMs;
    await this.#parts.hold(tokens + inherited, forMs);
    this.#held = tokens;
    this.#heldUntilMs = nowMs + forMs;
  }

  #wait(wish: TokenClaim): Ready<Reserved> {
    if (this.#waiters.length >= waitersMax) return { outcome: 'busy' };
    return new Promise<Reserved>((resolve) => {
      const timer = this.#parts.time.after(patienceMs, () => {
        this.#waiters = this.#waiters.filter((one) => one !== waiter);
        resolve({ outcome: 'busy' });
      });
      const waiter: Waiter = { wish, timer, resolve };
      this.#waiters.push(waiter);
    });
  }

  /** In their order of coming, as far as there is room. */
  #wake(): void {
    for (let next = this.#waiters[0]; next !== undefined; next = this.#waiters[0]) {
      const used = this.#used ?? 0;
      const { wish, timer, resolve } = next;
      if (used < wish.monthlyLimit && !this.#hasRoom(wish, used)) return;
      this.#waiters.shift();
      timer.cancel();
      resolve(used >= wish.monthlyLimit ? { outcome: 'used up', used } : this.#keep(wish));
    }
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
