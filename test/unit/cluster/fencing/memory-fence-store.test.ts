import test from 'ava';
import { MemoryFenceStore, type MemoryTables } from '../../../../cluster/simulation/fence-store.js';
import { systemTime } from '../../../../cluster/time/system.js';
import {
  fenceStoreContract,
  refusedSums,
  type SumLoad,
  type SumWrite,
  unusableSum,
} from '../../../contracts/fence-store.js';

class Sums implements MemoryTables<SumLoad, number, SumWrite, number> {
  readonly #sums = new Map<string, number>();

  load({ counter }: SumLoad): number {
    return this.#sums.get(counter) ?? 0;
  }

  apply({ counter, sum }: SumWrite): number {
    if (sum < 0) throw new RangeError('a sum must not be negative');
    if (sum === unusableSum || Object.values(refusedSums).includes(sum)) throw new Error('as the test says');
    this.#sums.set(counter, sum);
    return sum;
  }
}

fenceStoreContract(test, 'in memory', () => {
  const store = new MemoryFenceStore(new Sums(), systemTime, {
    delayMs: () => Math.random() * 2,
    fault: () => 'none',
  });
  return Promise.resolve({ one: store, other: store });
});
