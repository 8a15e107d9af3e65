import test from 'ava';
import { MemoryMembers } from '../../../../cluster/simulation/member-store.js';
import { systemRandom, systemTime } from '../../../../cluster/time/system.js';
import { memberStoreContract } from '../../../contracts/member-store.js';

memberStoreContract(test, 'in memory', () => {
  const members = new MemoryMembers(systemTime, systemRandom);
  const flush = (): Promise<void> => {
    members.flush();
    return Promise.resolve();
  };
  return Promise.resolve({ one: members.client(), other: members.client(), flush });
});
