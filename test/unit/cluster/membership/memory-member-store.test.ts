import test from 'ava';
import { MemoryMembers } from '../../../../cluster/simulation/member-store.js';
import { systemRandom, systemTime } from '../../../../cluster/time/system.js';
import { lease, memberStoreContract } from '../../../contracts/member-store.js';

memberStoreContract(test, 'in memory', () => {
  const members = new MemoryMembers(systemTime, systemRandom);
  const flush = (): Promise<void> => {
    members.flush();
    return Promise.resolve();
  };
  return Promise.resolve({ one: members.client(), other: members.client(), flush });
});

test('in memory: a mere renewal causes no hint', async (t) => {
  const members = new MemoryMembers(systemTime, systemRandom);
  const [one, other] = [members.client(), members.client()];
  let hints = 0;
  other.onChange(() => {
    hints += 1;
  });
  const { generation } = await one.renew(lease('p1', 1), undefined);
  await one.renew(lease('p1', 2), generation);
  // A hint travels without timers.
  await new Promise((resolve) => setImmediate(resolve));
  t.is(hints, 1);
});
