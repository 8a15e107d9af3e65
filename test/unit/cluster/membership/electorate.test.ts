// Which processes may still be confirming others.

import test from 'ava';
import { processId, viewNumber } from '../../../../cluster/ids/ids.js';
import { Electorate } from '../../../../cluster/membership/electorate.js';
import { Quorum } from '../../../../cluster/membership/quorum.js';
import { stored } from '../../../contracts/member-store.js';
import { TestPerspective, viewOf } from '../../../support/builders/perspective.js';

const nothingSeized = { forViews: viewNumber(0), forCertainty: viewNumber(0) };

/** This process is free. Of its two peers nothing is known. */
function three() {
  const context = new TestPerspective();
  const quorum = new Quorum();
  const view = viewOf(3, 'p0', 'p1', 'p2');
  quorum.remember(view);
  context.follow(view);
  const electorate = new Electorate(context, quorum, () => true);
  const opposing = (): string => electorate.opposition(nothingSeized).processes.toSorted().join(' ');
  return { context, electorate, opposing };
}

test('a process that has ended still counts until its promises must have expired', async (t) => {
  const { context, opposing } = three();
  context.saw(['p0']);
  context.gone.add(processId('p1'), 'reported');
  t.is(opposing(), 'p1 p2', 'it may have confirmed the other right before its end');
  const { leaseActMs, leaseMarginMs } = context.config;
  await context.time.advance(leaseActMs + leaseMarginMs - 1);
  t.is(opposing(), 'p1 p2');
  await context.time.advance(1);
  t.is(opposing(), '', 'one of three is no majority');
});

test('a removed lease does not show that its process has stopped', async (t) => {
  const { context, opposing } = three();
  context.saw(['p0'], [stored('p1', 1)]);
  for (let second = 0; second < 10; second += 1) {
    await context.time.advance(1_000);
    context.saw(['p0']);
  }
  t.true((context.observer.vanishedMs(processId('p1')) ?? 0) > 8_000);
  t.is(opposing(), 'p1 p2');
});

test('doubt leads to a seizure only while the end of a silent process that left the view is awaited', async (t) => {
  const { context, electorate } = three();
  const doubt = (): string => electorate.doubtAboutAwaited(nothingSeized).processes.toSorted().join(' ');
  const silent = stored('p1', 1);
  context.saw(['p0'], [silent]);
  await context.time.advance(2_000);
  context.saw(['p0'], [silent]);
  context.follow(viewOf(4, 'p0', 'p2'));
  t.is(doubt(), '', 'nobody waits');
  const waiting = new AbortController();
  const wait = context.gone.wait(silent.member.process, waiting.signal);
  t.is(doubt(), 'p1 p2');
  context.follow(viewOf(3, 'p0', 'p1', 'p2'));
  t.is(doubt(), '', 'it is a member');
  waiting.abort(new Error('the wait ends'));
  await t.throwsAsync(wait);
});
