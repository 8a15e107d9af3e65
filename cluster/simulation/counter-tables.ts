import type { CounterLoad, CounterResult, CounterState, CounterWrite } from '../example/counter.js';
import type { MemoryTables } from './fence-store.js';

/** The rows of the example counter, equivalent to its SQL. */
export class CounterTables implements MemoryTables<CounterLoad, CounterState, CounterWrite, CounterResult> {
  readonly sums = new Map<string, number>();
  /** The sum after each addition, by counter and request id. */
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
