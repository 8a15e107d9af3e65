import type { Time, Timer } from '../../../cluster/index.js';
import { FairLimiter, type FairLimiterLimits } from '../../kernel/fair-limiter.js';

export interface Later<Subject> {
  readonly subject: Subject;
  readonly inMs: number;
}

export interface ClaimLoopParts<Subject> {
  readonly time: Time;
  readonly keyOf: (subject: Subject) => string;
  /** The group of the subject, such as its tenant: waiting groups take turns, and none may take all the places. */
  readonly shareOf: (subject: Subject) => string;
  /** Handles the subject once, by claiming its row; returns when to handle it again on this node. */
  readonly work: (subject: Subject) => Promise<Later<Subject> | undefined>;
  /**
   * Finds due subjects that no node handles, for example those of a node that is gone. `atOnce`: a node has just gone, so
   * nothing suggests that another one is about to handle them.
   */
  readonly findDue: (atOnce: boolean) => Promise<readonly Subject[]>;
  readonly everyMs: number;
  /** Limits of the subjects handled at once on this node; further ones wait. */
  readonly room: FairLimiterLimits;
  /** Names of the two activities for the log. */
  readonly names: { readonly working: string; readonly finding: string };
  readonly report: (attempted: string, error: unknown) => void;
}

/** The pause after unexpected failures of `work`. */
const pauseMs = 2_000;

/**
 * The loop behind everything that is claimed by its row. A subject that is asked for is handled at once, never twice at
 * the same time on this node, and again when `work` says so; a periodic sweep finds subjects that other nodes left
 * behind. The row decides which node owns a subject, so asking too often does no harm.
 */
export class ClaimLoop<Subject> {
  readonly #parts: ClaimLoopParts<Subject>;
  /** Subjects in progress, each with the latest request that arrived meanwhile. */
  readonly #atWork = new Map<string, { next: Subject | undefined }>();
  readonly #waiting = new Map<string, Subject>();
  /** Admits the keys of waiting subjects. */
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
    this.#scheduleSweep();
  }

  /** Waits for subjects in progress; other nodes, or the next start, find the rest. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#sweep?.cancel();
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    this.#waiting.clear();
    await Promise.all(this.#running);
  }

  /** Finds due subjects now: a node has gone. */
  sweepNow(): void {
    if (!this.#stopped) void this.#sweepOnce(true);
  }

  /** Requests that the subject be handled. */
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

  /** Like `ask`, but never waits: returns false if the subject is in progress or waiting, or if there is no free place. */
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
      // Waiting subjects go first, before this one's next run.
      this.#room.leave(share);
      this.#beginWaiting();
      if (state.next !== undefined) this.ask(state.next);
      else if (later !== undefined) this.#askLater(later);
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
      // The map is empty after `stop`.
      if (subject !== undefined) this.#begin(key, subject);
    }
  }

  #askLater({ subject, inMs }: Later<Subject>): void {
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

  #scheduleSweep(): void {
    if (this.#stopped) return;
    this.#sweep = this.#parts.time.after(this.#parts.everyMs, () => {
      void this.#sweepOnce(false).finally(() => this.#scheduleSweep());
    });
  }

  async #sweepOnce(atOnce: boolean): Promise<void> {
    const { findDue, report, names } = this.#parts;
    try {
      for (const subject of await findDue(atOnce)) this.ask(subject);
    } catch (error) {
      report(names.finding, error);
    }
  }
}
