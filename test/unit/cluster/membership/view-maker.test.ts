// When a process makes a view, of whom, and under which number.

import test from 'ava';
import { processId, viewNumber } from '../../../../cluster/ids/ids.js';
import { waitMs } from '../../../../cluster/membership/perspective.js';
import { ViewMaker } from '../../../../cluster/membership/view-maker.js';
import { left, stored } from '../../../contracts/member-store.js';
import { TestPerspective, viewOf } from '../../../support/builders/perspective.js';

const members = ['p0', 'p1', 'p2'];

/** A maker in a view of three under number 3; the durable store gives 11 next. */
function maker() {
  const context = new TestPerspective();
  context.follow(viewOf(3, ...members));
  const views = new ViewMaker(context);
  /** Looks once, and returns what was published within so long. */
  const publishedWithin = async (ms: number): Promise<string[]> => {
    views.consider();
    await context.time.advance(ms);
    return context.published.map(
      ({ number, members: of }) => `${number}: ${of.map(({ process }) => process).join(' ')}`,
    );
  };
  return { context, publishedWithin };
}

test('changes within a short time share one view, whose number comes from the durable store', async (t) => {
  const { context, publishedWithin } = maker();
  context.saw([...members, 'p3']);
  t.deepEqual(await publishedWithin(context.config.viewCoalesceMinMs - 50), []);
  context.saw([...members, 'p3', 'p4']);
  t.deepEqual(await publishedWithin(2_000), ['11: p0 p1 p2 p3 p4']);
});

test('a member whose lease was removed and one that is leaving are out of the next view', async (t) => {
  const { context, publishedWithin } = maker();
  context.generationAgeMs = 60_000;
  context.saw([...members, 'p3']);
  context.saw(['p0'], [stored('p2', 5, { leaving: true }), stored('p3', 5)]);
  t.deepEqual(await publishedWithin(1_000), ['11: p0 p3']);
});

test('a process that has departed does not join, whatever lease it left', async (t) => {
  const { context, publishedWithin } = maker();
  context.saw([...members, 'p3', 'p4'], [], [left('p3')]);
  t.deepEqual(await publishedWithin(2_000), ['11: p0 p1 p2 p4']);
});

test('nothing is made, and no number taken, while something opposes a change', async (t) => {
  const { context, publishedWithin } = maker();
  context.opposed = { processes: [processId('p1'), processId('p2')], newest: viewNumber(3) };
  context.saw([...members, 'p3']);
  t.deepEqual(await publishedWithin(2_000), []);
  t.is(context.lastNumber, 10);
  t.true(context.events.some(({ event }) => event === 'opposed'));
});

test('what opposes a change by the time that its number has come prevents it', async (t) => {
  const { context, publishedWithin } = maker();
  context.numberMs = 1_000;
  context.saw([...members, 'p3']);
  t.deepEqual(await publishedWithin(800), []);
  context.opposed = { processes: [processId('p1'), processId('p2')], newest: viewNumber(3) };
  await context.time.advance(1_000);
  t.deepEqual(context.published, []);
  t.is(context.lastNumber, 11);
});

test('a number that was taken ahead is used soon or not at all', async (t) => {
  for (const { waitsMs, expected } of [
    { waitsMs: 500, expected: '11: p0 p2' },
    { waitsMs: 5_000, expected: '12: p0 p2' },
  ]) {
    const { context, publishedWithin } = maker();
    context.generationAgeMs = 60_000;
    context.refused.add(processId('p1'));
    context.saw(members);
    t.deepEqual(await publishedWithin(waitsMs), []);
    t.is(context.lastNumber, 11);
    context.saw(['p0', 'p2']);
    t.deepEqual(await publishedWithin(1_000), [expected]);
  }
});

test('two views with one number are both void: the members of the one in the store get another number', async (t) => {
  const { context, publishedWithin } = maker();
  context.inStore = viewOf(3, 'p0', 'p1');
  context.saw(['p0', 'p1']);
  t.deepEqual(await publishedWithin(1_000), ['11: p0 p1']);
});

test('members of a view below a seized number get a higher one as soon as all of them renew', async (t) => {
  const { context, publishedWithin } = maker();
  context.known = viewNumber(7);
  context.saw(['p0', 'p1']);
  t.deepEqual(await publishedWithin(1_000), [], 'one of them is still away');
  context.saw(members);
  t.deepEqual(await publishedWithin(1_000), ['11: p0 p1 p2']);
});

test('under a new generation nobody joins while a member is missing or holds a newer view', async (t) => {
  const rest = ['p0', 'p1', 'p3'];
  const missing = maker();
  missing.context.saw(rest);
  t.deepEqual(await missing.publishedWithin(3_000), []);
  const newer = maker();
  newer.context.saw(rest, [stored('p2', 1, { holds: viewNumber(4) })]);
  t.deepEqual(await newer.publishedWithin(3_000), []);
  const complete = maker();
  complete.context.saw(rest, [stored('p2', 1, { holds: viewNumber(3) })]);
  t.deepEqual(await complete.publishedWithin(3_000), ['11: p0 p1 p2 p3']);
});

test('a first view needs proof that there was none before, or lease and margin under one generation', async (t) => {
  for (const { last, expected } of [
    { last: 0, expected: ['1: p0'] },
    { last: 4, expected: [] },
  ]) {
    const { context, publishedWithin } = maker();
    context.follow(viewOf(0));
    context.inStore = undefined;
    context.lastNumber = last;
    context.saw(['p0']);
    t.deepEqual(await publishedWithin(1_000), expected);
    if (last === 0) continue;
    await context.time.advance(waitMs(context.config));
    context.saw(['p0']);
    t.deepEqual(await publishedWithin(1_000), ['6: p0']);
  }
});
