import type { Fence } from '../../cluster/fencing/fence.js';
import type {
  CounterLoad,
  CounterResult,
  CounterState,
  CounterWrite,
} from '../../cluster/example/counter.js';
import { grantsKind } from './grants.js';
import type { MemoryTables } from '../../cluster/simulation/fence-store.js';

/** Checks the writes of the durable store as they happen. */
export class CheckedTables implements MemoryTables<CounterLoad, CounterState, CounterWrite, CounterResult> {
  readonly sums = new Map<string, number>();
  readonly additions = new Map<string, number>();
  readonly forgotten = new Set<string>();
  readonly violations: string[];
  readonly #epochs = new Map<string, number>();
  readonly #now: () => number;

  constructor(violations: string[], now: () => number) {
    this.violations = violations;
    this.#now = now;
  }

  load({ counter }: CounterLoad): CounterState {
    return { sum: this.sums.get(counter) ?? 0 };
  }

  /**
   * The state that a lagging replica would hold; calling the result fails over to it. The ids of lost additions are
   * kept, because their callers may have been answered.
   */
  copy(): () => void {
    const [sums, additions, epochs] = [[...this.sums], [...this.additions], [...this.#epochs]];
    return () => {
      const kept = new Map(additions);
      for (const [id, sum] of this.additions) if (kept.get(id) !== sum) this.forgotten.add(id);
      replace(this.sums, sums);
      replace(this.additions, additions);
      replace(this.#epochs, epochs);
    };
  }

  /** The epoch that the row holds now. */
  raised(counter: string, epoch: number): void {
    this.#epochs.set(counter, Math.max(epoch, this.#epochs.get(counter) ?? 0));
  }

  apply({ counter, requestId, sum }: CounterWrite, fence: Fence): CounterResult {
    const newest = this.#epochs.get(counter) ?? 0;
    if (fence.epoch < newest) {
      this.violations.push(
        `${this.#now()}: ${show(counter)} written under epoch ${fence.epoch} after ${newest}`,
      );
    }
    this.#epochs.set(counter, Math.max(newest, fence.epoch));
    const id = `${counter}\0${requestId}`;
    const before = this.additions.get(id);
    if (before !== undefined) return { sum: before };
    this.additions.set(id, sum);
    this.sums.set(counter, sum);
    return { sum };
  }
}

export interface Effect {
  readonly actor: string;
  readonly process: string;
  readonly epoch: number;
  /** The request and its step: an activation makes each step of a request once. Absent if another checker knows it. */
  readonly step?: string;
}

/**
 * Checks outside effects: no effect of an older activation after one of a newer, and each step of a request at most once
 * under one epoch.
 */
export class CheckedEffects {
  readonly #newest = new Map<string, Effect>();
  readonly #made = new Set<string>();
  #storeForgot = false;
  readonly #violations: string[];
  readonly #now: () => number;
  /** Until when a process whose clocks both stood still may act beside its successor. */
  readonly #excusedUntilMs = new Map<string, number>();
  count = 0;
  /** Effects that such a process still had after its successor. */
  overlapping = 0;

  constructor(violations: string[], now: () => number) {
    this.#violations = violations;
    this.#now = now;
  }

  /** The process runs again, and may act beside its successor for so long. */
  resumed(process: string, overlapMs: number): void {
    this.#excusedUntilMs.set(process, this.#now() + overlapMs);
  }

  isExcused(process: string): boolean {
    return this.#now() <= (this.#excusedUntilMs.get(process) ?? Number.NEGATIVE_INFINITY);
  }

  /** The store lost epochs and issues them again, while activations from before still act. */
  forget(): void {
    this.#storeForgot = true;
  }

  happened(effect: Effect): void {
    this.count += 1;
    const { actor, process, epoch, step } = effect;
    const place = `${actor} ${epoch} ${step}`;
    if (step !== undefined && this.#made.has(place) && !this.#storeForgot) {
      this.#violations.push(
        `${this.#now()}: effect of ${show(actor)} at ${process}: step ${step} was made twice under epoch ${epoch}`,
      );
    }
    this.#made.add(place);
    const newest = this.#newest.get(effect.actor);
    if (newest !== undefined && effect.epoch < newest.epoch && !this.#storeForgot) {
      if (this.isExcused(effect.process)) {
        this.overlapping += 1;
        return;
      }
      this.#violations.push(
        `${this.#now()}: effect of ${show(effect.actor)} at ${effect.process} under epoch ${effect.epoch} after ${newest.process} acted under ${newest.epoch}`,
      );
    } else this.#newest.set(effect.actor, effect);
  }
}

export interface SentCall {
  readonly id: string;
  readonly counter: string;
  readonly origin: { readonly isDead: boolean };
  readonly sentAtMs: number;
  /** Whether its answer is a row of its own. */
  readonly isRecorded: boolean;
  outcome: 'open' | 'failed' | 'answered';
  sum: number | undefined;
  /** When the answer came. */
  answeredAtMs?: number;
  error: string | undefined;
}

/** Checks every answer that callers received, at the end of a run. */
export function checkCalls(calls: readonly SentCall[], tables: CheckedTables, bound: number): string[] {
  const violations: string[] = [];
  const answered = new Map<string, number>();
  for (const call of calls) {
    if (call.outcome === 'open' && !call.origin.isDead) {
      violations.push(`call ${call.id}, sent at ${call.sentAtMs}, never ended`);
    }
    if (call.error?.includes('request_conflict') === true) violations.push(`call ${call.id}: ${call.error}`);
    if (call.outcome !== 'answered' || call.sum === undefined || !call.isRecorded) continue;
    const key = `${call.counter}\0${call.id}`;
    if (tables.forgotten.has(key)) continue;
    const recorded = tables.additions.get(key);
    if (recorded === undefined) violations.push(`call ${call.id} was acknowledged but is lost`);
    else if (recorded !== call.sum) {
      violations.push(`call ${call.id} was answered ${call.sum}, the row says ${recorded}`);
    }
    const before = answered.get(call.id);
    if (before !== undefined && before !== call.sum) {
      violations.push(`call ${call.id} was answered ${before} and ${call.sum}`);
    }
    answered.set(call.id, call.sum);
  }
  for (const [counter, sum] of tables.sums) {
    if (counter.startsWith(grantsKind)) continue;
    let additions = 0;
    for (const id of tables.additions.keys()) if (id.startsWith(`${counter}\0`)) additions += 1;
    if (additions !== sum) violations.push(`${show(counter)} is ${sum} after ${additions} additions of one`);
    if (counter.endsWith('bounded') && sum > bound)
      violations.push(`${show(counter)} is ${sum}, above ${bound}`);
  }
  return violations;
}

/**
 * The histories of the counters are linearizable: additions of one have the sums 1, 2, 3 …, and an addition that was
 * answered before another was sent has the lower sum, whoever sent them. So the additions of one caller that waits for
 * its answers keep their order. A repeated request counts from its first sending to its first answer.
 */
export function checkLinearizable(
  calls: readonly SentCall[],
  tables: Pick<CheckedTables, 'forgotten'>,
): string[] {
  const violations: string[] = [];
  for (const [counter, additions] of grouped(
    calls.filter(({ isRecorded }) => isRecorded),
    (call) => call.counter,
  )) {
    const known = [...grouped(additions, ({ id }) => id)].flatMap(([id, sent]) => {
      const answered = sent.filter(({ sum }) => sum !== undefined);
      const sum = answered[0]?.sum;
      if (sum === undefined || tables.forgotten.has(`${counter}\0${id}`)) return [];
      const sentAtMs = Math.min(...sent.map((call) => call.sentAtMs));
      const answeredAtMs = Math.min(...answered.map((call) => call.answeredAtMs ?? Number.POSITIVE_INFINITY));
      return [{ id, sum, sentAtMs, answeredAtMs }];
    });
    // In the order of sums, none may be answered before an earlier one was sent.
    let lastSent: (typeof known)[number] | undefined;
    for (const one of known.toSorted((first, second) => first.sum - second.sum)) {
      if (lastSent !== undefined && one.answeredAtMs < lastSent.sentAtMs) {
        violations.push(
          `${show(counter)}: ${one.id} has the sum ${one.sum} after ${lastSent.id}, which was sent after its answer`,
        );
      }
      if (lastSent === undefined || one.sentAtMs > lastSent.sentAtMs) lastSent = one;
    }
  }
  return violations;
}

/** Node 20 has no `Map.groupBy`. */
function grouped<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

function show(actor: string): string {
  return actor.split('\0').slice(-1).join('');
}

function replace<Key, Value>(map: Map<Key, Value>, entries: readonly (readonly [Key, Value])[]): void {
  map.clear();
  for (const [key, value] of entries) map.set(key, value);
}
