import type { Time, Timer } from '../../../cluster/index.js';
import { FairLimiter, type FairLimiterLimits } from './fair-limiter.js';

export interface Later<Subject> {
  readonly subject: Subject;
  readonly inMs: number;
}

export interface ClaimLoopParts<Subject> {
  readonly time: Time;
  readonly keyOf: (subject: Subject) => string;
  /** Whose it is: those who wait come by turns, and nobody takes all the places. */
  readonly shareOf: (subject: Subject) => string;
  /** Looks after the subject once, by its row in the store; answers when to come back here. */
  readonly work: (subject: Subject) => Promise<Later<Subject> | undefined>;
  /** Subjects that are due and that nobody looks after, such as those of a node that is gone. */
  readonly findDue: () => Promise<readonly Subject[]>;
  readonly everyMs: number;
  /** Of subjects that this node looks after at once; more wait their turn. */
  readonly room: FairLimiterLimits;
  /** Words for the log. */
  readonly names: { readonly working: string; readonly finding: string };
  readonly report: (attempted: string, error: unknown) => void;
}

/** After work that failed by surprise. */
const pauseMs = 2_000;

/**
 * The loop of everything that is claimed by its row: whoever is asked looks after a subject at once, one time at a time
 * for each, comes back when the work says so, and every now and then looks for what others have left behind. Which node
 * really has a subject is decided by the row, so asking too often does no harm.
 */
export class ClaimLoop<Subject> {
  readonly #parts: ClaimLoopParts<Subject>;
  /** Subjects at work, each with the one that was asked for meanwhile. */
  readonly #atWork = new Map<string, { next: Subject | undefined }>();
  readonly #waiting = new Map<string, Subject>();
  /** Of the keys of those that wait. */
  readonly #room: FairLimiter<string>;
  readonly #timers = new Map<string, Timer>();
  readonly #running = new Set<Promise<void>>();
  #sweep: Timer | undefined;
  #stopped = false;

  constructor(parts: ClaimLoopParts<Subject>) {
    this.#parts = parts;
    this.#room = new FairLimiter(parts.room);
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  start(): void {
    this.#sweepLater();
  }

  /** What is at work ends; the rest is found by other nodes, or at the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#sweep?.cancel();
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    this.#waiting.clear();
    await Promise.all(this.#running);
  }

  /** There is something to do for this subject. */
  ask(subject: Subject): void {
    if (this.#stopped) return;
    const key = this.#parts.keyOf(subject);
    const atWork = this.#atWork.get(key);
    if (atWork !== undefined) atWork.next = subject;
    else if (this.#waiting.has(key)) this.#waiting.set(key, subject);
    else if (this.#room.hasPlace(this.#parts.shareOf(subject))) this.#begin(key, subject);
    else {
      this.#waiting.set(key, subject);
      this.#room.wait(this.#parts.shareOf(subject), key);
    }
  }

  /** For what cannot wait: false, and nothing done, where the subject is at work or waits already, or has no place. */
  askNow(subject: Subject): boolean {
    const key = this.#parts.keyOf(subject);
    const isBusy = this.#stopped || this.#atWork.has(key) || this.#waiting.has(key);
    if (isBusy || !this.#room.hasPlace(this.#parts.shareOf(subject))) return false;
    this.#begin(key, subject);
    return true;
  }

  #begin(key: string, subject: Subject): void {
    const state = { next: undefined as Subject | undefined };
    const share = this.#parts.shareOf(subject);
    this.#atWork.set(key, state);
    this.#room.enter(share);
    this.#timers.get(key)?.cancel();
    this.#timers.delete(key);
    const run = this.#workOnce(subject).then((later) => {
      this.#running.delete(run);
      this.#atWork.delete(key);
      // Who waits comes first, also before this one's next time.
      this.#room.leave(share);
      this.#beginWaiting();
      if (state.next !== undefined) this.ask(state.next);
      else if (later !== undefined) this.#comeBack(later);
    });
    this.#running.add(run);
  }

  /** Never rejects. */
  async #workOnce(subject: Subject): Promise<Later<Subject> | undefined> {
    const { work, report, names } = this.#parts;
    try {
      return await work(subject);
    } catch (error) {
      report(names.working, error);
      return { subject, inMs: pauseMs };
    }
  }

  #beginWaiting(): void {
    for (let key = this.#room.next(); key !== undefined; key = this.#room.next()) {
      const subject = this.#waiting.get(key);
      this.#waiting.delete(key);
      // None, once this was stopped.
      if (subject !== undefined) this.#begin(key, subject);
    }
  }

  #comeBack({ subject, inMs }: Later<Subject>): void {
    if (this.#stopped) return;
    const key = this.#parts.keyOf(subject);
    this.#timers.get(key)?.cancel();
    this.#timers.set(
      key,
      this.#parts.time.after(inMs, () => {
        this.#timers.delete(key);
        this.ask(subject);
      }),
    );
  }

  #sweepLater(): void {
    if (this.#stopped) return;
    this.#sweep = this.#parts.time.after(this.#parts.everyMs, () => {
      void this.#lookAround().finally(() => this.#sweepLater());
    });
  }

  async #lookAround(): Promise<void> {
    const { findDue, report, names } = this.#parts;
    try {
      for (const subject of await findDue()) this.ask(subject);
    } catch (error) {
      report(names.finding, error);
    }
  }
}
