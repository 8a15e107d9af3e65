import test from 'ava';
import { clusterConfig } from '../../../../cluster/config.js';
import { processId, viewNumber, type ProcessId } from '../../../../cluster/ids/ids.js';
import { confirmedByPeers } from '../../../../cluster/membership/peer-confirmation.js';
import { makeView } from '../../../../cluster/membership/view.js';
import { MemoryNumbers } from '../../../../cluster/simulation/member-store.js';
import { VirtualTime } from '../../../../cluster/simulation/virtual-time.js';
import { member } from '../../../contracts/member-store.js';

/** Whether one of two members may go on if its peer's address answers in the name of this process. */
async function confirmedBy(from: ProcessId): Promise<boolean> {
  const time = new VirtualTime();
  const view = makeView(viewNumber(4), ['p1', 'p2'].map(member));
  const parts = {
    self: member('p1'),
    probe: {
      ask: () =>
        Promise.resolve({
          outcome: 'replied' as const,
          reply: { from, confirmed: true, reachesMemberStore: false, view },
        }),
      answerWith() {},
    },
    numbers: new MemoryNumbers(time).client(),
    time,
    config: clusterConfig(),
  };
  const confirming = confirmedByPeers(parts, view, undefined);
  await time.advance(1_000);
  return confirming;
}

test('only the asked process itself can confirm', async (t) => {
  t.true(await confirmedBy(processId('p2')));
  t.false(await confirmedBy(processId('p9')), 'a process that was started at the same address');
});
