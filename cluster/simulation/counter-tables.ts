import type { CounterLoad, CounterResult, CounterState, CounterWrite } from '../example/counter.js';
import type { MemoryTables } from './fence-store.js';

/** The rows of the example counter, as its SQL twin keeps them. */
export class CounterTables implements MemoryTables<CounterLoad, CounterState, CounterWrite, CounterResult> {
  readonly sums = new Map<string, number>();
  /** By counter and request id: the sum that the addition made. */
  readonly additions = new Map<string, number>();

  load({ counter }: CounterLoad): CounterState {
    return { sum: this.sums.get(counter) ?? 0 };
  }

  apply({ counter, requestId, sum }: CounterWrite): CounterResult {
    const id = `${counter}\0${requestId}`;
    const before = this.additions.get(id);
    if (before !== undefined) return { sum: before };
    this.additions.set(id, sum);
    this.sums.set(counter, sum);
    return { sum };
  }
}
