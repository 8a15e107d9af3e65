// Rows of work and timers (protocol 6) in a simulated store.

import type { Slot } from '../../cluster/ids/ids.js';
import type { DueTimer, TimerSource } from '../../cluster/recovery/durable-timers.js';
import type { RecoverySource, UnfinishedWork } from '../../cluster/recovery/recovery.js';
import type { SlotSet } from '../../cluster/ring/slot-set.js';
import type { Transit } from '../../cluster/simulation/member-store.js';

export interface WorkRow extends UnfinishedWork {
  readonly key: string;
  readonly writtenAtMs: number;
  /** Every process that takes it up dies. */
  readonly isPoison: boolean;
  attempts: number;
  givenUp: boolean;
}

/** Three deaths, each followed by a replacement, a scan and a growing pause. */
const poisonMaxMs = 60_000;

interface TimerRow {
  readonly id: string;
  readonly slot: Slot;
  readonly writtenAtMs: number;
  readonly dueAtMs: number;
  fired: number;
}

export interface RowParts {
  readonly violations: string[];
  now(): number;
  /** Whether the row of its result exists. */
  isDone(row: WorkRow): boolean;
  readonly attemptsMax: number;
  /** The store may have lost attempt counts that it had acknowledged (protocol 1.7). */
  storeForgot(): boolean;
  /** Planted bugs. */
  readonly countsNothing: boolean;
  readonly scansOnce: boolean;
  readonly firesUnchecked: boolean;
}

export class DurableRows {
  readonly #parts: RowParts;
  #work = new Map<string, WorkRow>();
  #timers = new Map<string, TimerRow>();
  readonly #scanned = new Set<string>();
  readonly #deaths = new Map<string, number>();
  #last = 0;
  /** When a process last died of poison. */
  poisonedAtMs = 0;
  finished = 0;
  fired = 0;

  constructor(parts: RowParts) {
    this.#parts = parts;
  }

  copy(): () => void {
    const work = [...this.#work].map(([id, row]) => [id, { ...row }] as const);
    const timers = [...this.#timers].map(([id, row]) => [id, { ...row }] as const);
    return () => {
      this.#work = new Map(work);
      this.#timers = new Map(timers);
    };
  }

  writeWork(key: string, slot: Slot, isPoison = false): WorkRow {
    this.#last += 1;
    const id = `work-${this.#last}`;
    const row = { id, key, slot, isPoison, writtenAtMs: this.#parts.now(), attempts: 0, givenUp: false };
    this.#work.set(id, row);
    return row;
  }

  writeTimer(slot: Slot, dueInMs: number): DueTimer {
    this.#last += 1;
    const id = `timer-${this.#last}`;
    const writtenAtMs = this.#parts.now();
    this.#timers.set(id, { id, slot, writtenAtMs, dueAtMs: writtenAtMs + dueInMs, fired: 0 });
    return { id, slot, dueInMs };
  }

  /** Poison that may still kill counts as an active fault, for at most `poisonMaxMs`. */
  get isPoisoned(): boolean {
    const sinceMs = this.#parts.now() - poisonMaxMs;
    return [...this.#work.values()].some((row) => row.isPoison && !row.givenUp && row.writtenAtMs > sinceMs);
  }

  workSource(
    process: string,
    transit: Transit,
    run: (row: WorkRow) => Promise<void>,
  ): RecoverySource<WorkRow> {
    return {
      unfinished: (slots, limit) =>
        transit(() => {
          if (this.#parts.scansOnce && this.#scanned.has(process)) return [];
          this.#scanned.add(process);
          return [...this.#work.values()].filter((row) => this.#isOpen(row, slots)).slice(0, limit);
        }),
      takeUp: ({ id }) =>
        transit(() => {
          const row = this.#work.get(id);
          if (row === undefined || row.givenUp || this.#parts.isDone(row)) return undefined;
          if (!this.#parts.countsNothing) row.attempts += 1;
          return row.attempts;
        }),
      run: async (row) => {
        if (row.isPoison) this.#poisoned(row);
        await run(row);
      },
      giveUp: ({ id }) =>
        transit(() => {
          const row = this.#work.get(id);
          if (row === undefined) return;
          row.givenUp = true;
          if (row.attempts <= this.#parts.attemptsMax) {
            this.#parts.violations.push(`${id} was given up after ${row.attempts} take-ups`);
          }
        }),
    };
  }

  timerSource(transit: Transit): TimerSource {
    return {
      upcoming: (slots, horizonMs, limit) =>
        transit(() =>
          [...this.#timers.values()]
            .filter(({ slot, fired }) => fired === 0 && slots.has(slot))
            .map(({ id, slot, dueAtMs }) => ({ id, slot, dueInMs: dueAtMs - this.#parts.now() }))
            .filter(({ dueInMs }) => dueInMs <= horizonMs)
            .toSorted((one, other) => one.dueInMs - other.dueInMs)
            .slice(0, limit),
        ),
      fire: (id) => transit(() => this.#fire(id)),
    };
  }

  #poisoned(row: WorkRow): void {
    this.poisonedAtMs = this.#parts.now();
    const died = (this.#deaths.get(row.id) ?? 0) + 1;
    this.#deaths.set(row.id, died);
    if (died > this.#parts.attemptsMax && !this.#parts.storeForgot())
      this.#parts.violations.push(`${died} processes died of ${row.id}`);
  }

  #fire(id: string): number | undefined {
    const row = this.#timers.get(id);
    if (row === undefined || (row.fired > 0 && !this.#parts.firesUnchecked)) return undefined;
    const leftMs = row.dueAtMs - this.#parts.now();
    if (leftMs > 0) return leftMs;
    row.fired += 1;
    this.fired += 1;
    if (row.fired > 1) this.#parts.violations.push(`${id} fired ${row.fired} times`);
    return undefined;
  }

  #isOpen(row: WorkRow, slots: SlotSet): boolean {
    return !row.givenUp && slots.has(row.slot) && !this.#parts.isDone(row);
  }

  /** After recovery: checks that every row older than `agoMs` has been finished, given up or fired. */
  check(agoMs: number): void {
    const before = this.#parts.now() - agoMs;
    for (const row of this.#work.values()) {
      const isDone = this.#parts.isDone(row);
      if (isDone) this.finished += 1;
      if (row.writtenAtMs > before || isDone || row.givenUp) continue;
      this.#parts.violations.push(`${row.id}, written at ${row.writtenAtMs}, was never finished`);
    }
    for (const { id, fired, writtenAtMs, dueAtMs } of this.#timers.values()) {
      if (fired > 0 || Math.max(writtenAtMs, dueAtMs) > before) continue;
      this.#parts.violations.push(`${id}, due at ${dueAtMs}, never fired`);
    }
  }
}
