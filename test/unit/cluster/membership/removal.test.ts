import test from 'ava';
import { processId, viewNumber } from '../../../../cluster/ids/ids.js';
import { waitMs } from '../../../../cluster/membership/perspective.js';
import { Removal } from '../../../../cluster/membership/removal.js';
import { stored } from '../../../contracts/member-store.js';
import { TestPerspective, viewOf } from '../../../support/builders/perspective.js';

const p1 = processId('p1');

function three() {
  const context = new TestPerspective();
  context.follow(viewOf(3, 'p0', 'p1', 'p2'));
  return { context, removal: new Removal(context) };
}

test('a lease is removed after lease and margin, unless its process may be confirming others', async (t) => {
  const { context, removal } = three();
  const silent = stored('p1', 1);
  context.saw(['p0', 'p2'], [silent]);
  await context.time.advance(waitMs(context.config));
  context.saw(['p0', 'p2'], [silent]);
  context.opposed = { processes: [p1, processId('p2')], newest: viewNumber(3) };
  removal.consider();
  await context.time.advance(10);
  t.deepEqual(context.removed, []);
  context.opposed = { processes: [], newest: viewNumber(0) };
  removal.consider();
  await context.time.advance(10);
  t.deepEqual(context.removed, [p1]);
});

test('a renewal after a refusal refutes it', async (t) => {
  const { context, removal } = three();
  context.opposed = { processes: [p1], newest: viewNumber(3) };
  context.saw(['p0', 'p1', 'p2']);
  removal.reportRefused(p1);
  await context.time.advance(200);
  t.is(removal.refusedMs(p1), 200);
  context.saw(['p0', 'p1', 'p2']);
  t.is(removal.refusedMs(p1), undefined);
});
