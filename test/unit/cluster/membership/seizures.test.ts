import test from 'ava';
import { processId, viewNumber } from '../../../../cluster/ids/ids.js';
import { Seizures } from '../../../../cluster/membership/seizures.js';
import { stored } from '../../../contracts/member-store.js';
import { TestPerspective, viewOf } from '../../../support/builders/perspective.js';

function three() {
  const context = new TestPerspective();
  context.follow(viewOf(3, 'p0', 'p1', 'p2'));
  const seizures = new Seizures(context, {
    answeredMs: () => undefined,
    uncertain: () => ({ processes: [], newest: viewNumber(0) }),
  });
  /** A poll of the store each half second. */
  const observe = async (forMs: number, poll: () => void): Promise<void> => {
    for (let ms = 0; ms < forMs; ms += 500) {
      poll();
      seizures.consider();
      await context.time.advance(500);
    }
  };
  return { context, seizures, observe };
}

test('a process that renews again and is only bound by a promise does not delay a seizure', async (t) => {
  const { context, observe } = three();
  context.opposed = { processes: [processId('p1'), processId('p2')], newest: viewNumber(3) };
  await observe(4_000, () => context.saw(['p0', 'p1'], [stored('p2', 1)]));
  t.true(context.events.some(({ event }) => event === 'seized'));
});

test('a number that another process seized before it died is found within half a minute', async (t) => {
  const { context, seizures, observe } = three();
  const poll = (): void => context.saw(['p0', 'p1', 'p2']);
  await observe(2_000, poll);
  context.stored = viewNumber(7);
  await observe(context.config.seizedReadMs + 1_000, poll);
  t.is(seizures.highest, viewNumber(7));
});
