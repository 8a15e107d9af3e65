import test from 'ava';
import { processId, viewNumber } from '../../../cluster/ids/ids.js';
import type { LeftBecause, Member } from '../../../cluster/membership/membership.js';
import { makeView } from '../../../cluster/membership/view.js';
import { RingHistory } from '../../../cluster/node/ring-history.js';
import { Ring } from '../../../cluster/ring/ring.js';

const [one, two] = [processId('one'), processId('two')];

function memberOf(process: typeof one): Member {
  return { process, address: '127.0.0.1:1', weight: 1, roles: ['worker'], host: 'h', pid: 1 };
}

/** A ring without slots. */
function ringOf(number: number, ...processes: (typeof one)[]): Ring {
  return new Ring(makeView(viewNumber(number), processes.map(memberOf)), new Uint16Array());
}

function historyOfDeath() {
  const known = new Map<string, LeftBecause>();
  const history = new RingHistory((process) => known.get(process));
  history.note(ringOf(2, one), ringOf(1, one, two), 0);
  const because = () => history.changes().at(-1)?.left;
  return { known, because };
}

test('a reason that is known only after the change is told from then on', (t) => {
  const { known, because } = historyOfDeath();
  t.deepEqual(because(), [{ process: two, because: 'unknown' }]);
  known.set(two, 'exited');
  t.deepEqual(because(), [{ process: two, because: 'exited' }]);
  known.delete(two);
  t.deepEqual(because(), [{ process: two, because: 'exited' }]);
});

test('a removed process that departs later did not leave in order', (t) => {
  const { known, because } = historyOfDeath();
  known.set(two, 'left');
  t.deepEqual(because(), [{ process: two, because: 'unknown' }]);
});
