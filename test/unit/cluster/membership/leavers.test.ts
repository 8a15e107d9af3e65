// What operators read of processes that leave: who is still there, and why one left.
import test from 'ava';
import { processId, viewNumber } from '../../../../cluster/ids/ids.js';
import { Leavers } from '../../../../cluster/membership/leavers.js';
import type { Member } from '../../../../cluster/membership/membership.js';
import { Observer } from '../../../../cluster/membership/observer.js';
import { makeView } from '../../../../cluster/membership/view.js';

const member = (name: string): Member => ({
  process: processId(name),
  address: `${name}:1`,
  weight: 1,
  roles: ['worker'],
  host: name,
  pid: 1,
});
const [one, two, three] = [member('p1'), member('p2'), member('p3')];

function observed(leases: readonly { readonly member: Member; readonly leaving: boolean }[], gone: Member[]) {
  const observer = new Observer(2_000, () => 0);
  observer.observe(
    {
      generation: 'g',
      generationAgeMs: 60_000,
      view: undefined,
      leases: leases.map((lease) => ({
        ...lease,
        renewals: 1,
        promisedMs: 0,
        holds: viewNumber(1),
        lateMs: 0,
      })),
      departed: gone.map(({ process }) => ({ process, promisedMs: 0 })),
    },
    { startedMs: 1_000, receivedMs: 1_010, isCompared: true },
  );
  return new Leavers(observer, () => makeView(viewNumber(2), [one]));
}

test('a worker that left the view and keeps its lease is listed until the lease is released', (t) => {
  const leasesOf = [
    { member: one, leaving: false },
    { member: two, leaving: true },
  ];
  const leavers = observed(leasesOf, [three]);
  t.deepEqual(leavers.members(), [two]);
  t.is(leavers.why(two.process), 'left');
  t.is(leavers.why(three.process), 'left', 'it has a departure record');
  t.is(leavers.why(processId('p4')), undefined);
});

test('a removal tells why, also where the process left a departure record afterwards; old ones are forgotten', (t) => {
  const leavers = observed([], [two]);
  leavers.note({ event: 'removed', process: two.process, because: 'silent' });
  t.is(leavers.why(two.process), 'silent');
  for (let index = 0; index < 300; index += 1)
    leavers.note({ event: 'removed', process: processId(`q${index}`), because: 'exited' });
  t.is(leavers.why(processId('q299')), 'exited');
  t.is(leavers.why(processId('q0')), undefined);
});
