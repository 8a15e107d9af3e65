import { mutantsOf } from '../mutant.js';

const recovering = { tests: ['test/unit/cluster/recovery.test.ts'] };
const timing = { tests: ['test/unit/cluster/durable-timers.test.ts'] };

/** Work and timers that are found again after a fault. */
export const recovery = [
  ...mutantsOf(
    'cluster/recovery/recovery.ts',
    [
      {
        id: 'no-second-look',
        rule: 'After a move the rows are read again once every older lease and statement is over.',
        find: `    this.#scanLater(wasCold ? this.#config.recoveryStableViewMs : 0);
    this.#scanLater(this.#secondScanMs());`,
        replace: `    this.#scanLater(wasCold ? this.#config.recoveryStableViewMs : 0);`,
      },
      {
        id: 'second-look-too-early',
        rule: 'The second look waits for lease, margin and the longest statement.',
        find: `    return this.#config.leaseMs + this.#config.leaseMarginMs + this.#config.statementTimeoutMs;`,
        replace: `    return this.#config.leaseMs;`,
      },
      {
        id: 'no-look-on-gaining-slots',
        rule: 'The rows of gained slots are read at once.',
        find: `    this.#scanLater(wasCold ? this.#config.recoveryStableViewMs : 0);
    this.#scanLater(this.#secondScanMs());`,
        replace: `    void wasCold;
    this.#scanLater(this.#secondScanMs());`,
      },
      {
        id: 'no-sweep',
        rule: 'The rows are read again and again, for ever.',
        find: `      void this.#scan();
      this.#sweepLater();
    });`,
        replace: `      this.#sweepLater();
    });`,
      },
      {
        id: 'cold-start-at-once',
        rule: 'After a cold start nothing is recovered before a view is stable.',
        find: `    this.#scanLater(this.#config.recoveryStableViewMs);
    this.#scanLater(this.#secondScanMs());
    this.#sweepLater();`,
        replace: `    this.#scanLater(0);
    this.#scanLater(this.#secondScanMs());
    this.#sweepLater();`,
      },
      {
        id: 'all-repeats-at-once',
        rule: 'Repeats run one at a time.',
        find: `    if (this.#repeating) return;`,
        replace: ``,
      },
      {
        id: 'repeats-without-a-pause',
        rule: 'Repeats wait a growing time.',
        find: `    this.#after(backoffMs(work.attempts - 1, backoff, this.#random), () => {`,
        replace: `    this.#after(0 * backoffMs(work.attempts - 1, backoff, this.#random), () => {`,
      },
      {
        id: 'repeats-count-as-first-attempts',
        rule: 'Work that was taken up before is a repeat.',
        find: `        (work.attempts === 0 ? this.#fresh : this.#repeats).push(work);`,
        replace: `        this.#fresh.push(work);`,
      },
      {
        id: 'never-given-up',
        rule: 'Work that was taken up too often is given up.',
        find: `      if (attempt > this.#config.recoveryAttempts) {`,
        replace: `      if (attempt > this.#config.recoveryAttempts * 1_000) {`,
      },
      {
        id: 'uncounted-take-up-runs',
        rule: 'Work that is finished or no longer due is not run.',
        find: `      if (attempt === undefined) return;
      if (attempt >`,
        replace: `      if (attempt !== undefined && attempt >`,
      },
      {
        id: 'work-of-lost-slots-runs',
        rule: 'Work of a slot that has moved is left to its new owner.',
        find: `      if (this.#stopped || !this.#node.owns(work.slot) || !this.#node.mayAct()) return;`,
        replace: `      if (this.#stopped) return;`,
      },
      {
        id: 'failed-work-not-looked-for',
        rule: 'Work that failed is found again.',
        find: `      this.#scanLater(this.#config.recoveryRetryMs);`,
        replace: ``,
      },
      {
        id: 'full-look-waits-for-the-sweep',
        rule: 'A full look is followed by the next at once.',
        find: `      if (found.length >= limit && last?.id !== beyond?.id) this.#beyond = last;`,
        replace: `      if (found.length < 0 && last?.id !== beyond?.id) this.#beyond = last;`,
      },
      {
        id: 'taken-up-twice',
        rule: 'A look does not take up work that is being handled.',
        find: `        if (this.#takenUp.has(work.id) || !this.#node.owns(work.slot)) continue;`,
        replace: `        if (!this.#node.owns(work.slot)) continue;`,
      },
    ],
    recovering,
  ),
  ...mutantsOf(
    'cluster/recovery/durable-timers.ts',
    [
      {
        id: 'timers-unread-on-a-move',
        rule: 'The timers of gained slots are read at once.',
        find: `      this.#readAgain = this.#reading;
      void this.#read();`,
        replace: ``,
      },
      {
        id: 'timers-unread-on-a-move-during-a-reading',
        rule: 'The timers of slots that are gained during a reading are read right after it.',
        find: `      this.#readAgain = this.#reading;`,
        replace: ``,
      },
      {
        id: 'timers-not-refreshed',
        rule: 'Timers are read again and again.',
        find: `      void this.#read();
      this.#refreshLater();`,
        replace: `      this.#refreshLater();`,
      },
      {
        id: 'timer-of-lost-slot-fires',
        rule: 'A timer fires only at the owner of its slot that may act.',
        find: `      if (!this.#node.owns(next.slot) || !this.#node.mayAct()) continue;`,
        replace: ``,
      },
      {
        id: 'early-timer-forgotten',
        rule: 'A timer that is not due yet by the clock of the store fires later.',
        find: `      else this.armed({ id: entry.id, slot: entry.slot, dueInMs: retryInMs });`,
        replace: ``,
      },
      {
        id: 'failed-firing-forgotten',
        rule: 'A firing that failed is repeated.',
        find: `      this.armed({ id: entry.id, slot: entry.slot, dueInMs: this.#config.recoveryRetryMs });`,
        replace: ``,
      },
      {
        id: 'disarmed-timer-fires',
        rule: 'A timer that was moved or removed does not fire.',
        find: `      if (this.#known.get(next.id) !== next) continue;`,
        replace: ``,
      },
      {
        id: 'timers-without-bound',
        rule: 'At most so many timers fire at once.',
        find: `next.atMs <= nowMs + 1 && this.#firing < this.#config.timerConcurrency;`,
        replace: `next.atMs <= nowMs + 1;`,
      },
    ],
    timing,
  ),
];
