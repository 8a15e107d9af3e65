import test from 'ava';
import { processId, viewNumber, type ProcessId } from '../../../../cluster/ids/ids.js';
import { Observer, type Poll } from '../../../../cluster/membership/observer.js';
import { Quorum, type Electors } from '../../../../cluster/membership/quorum.js';
import { makeView } from '../../../../cluster/membership/view.js';
import { member, stored } from '../../../contracts/member-store.js';

const p1 = processId('p1');
const awayMs = 2_000;
/** For tests in which no unknown process is asked for. */
const never = (): number => Number.NaN;

function poll(startedMs: number, receivedMs = startedMs + 10): Poll {
  return { startedMs, receivedMs, isCompared: false };
}

function renewal(startedMs: number): Poll {
  return { ...poll(startedMs), isCompared: true };
}

function seen(renewals: number, generation = 'a', promisedMs = 0, holds = 0) {
  const leases = [stored('p1', renewals, { promisedMs, holds: viewNumber(holds) })];
  return { generation, generationAgeMs: 0, leases, departed: [], view: undefined };
}

test('silence is counted from the receipt of the last change to the start of the last poll', (t) => {
  const observer = new Observer(2_000, never);
  observer.observe(seen(1), poll(1_000, 1_300));
  observer.observe(seen(1), poll(4_000, 4_900));
  t.is(observer.silentMs(p1), 2_700);
  observer.observe(seen(2), poll(5_000, 5_100));
  t.is(observer.silentMs(p1), -100, 'nothing is known yet about the time after this answer');
});

test('an observer that could not poll counts no silence', (t) => {
  const observer = new Observer(2_000, never);
  observer.observe(seen(1), poll(1_000));
  observer.observe(seen(9), poll(60_000));
  t.true(observer.silentMs(p1) <= 0);
});

test('an answer that arrives after a later one is skipped', (t) => {
  const observer = new Observer(2_000, never);
  observer.observe(seen(5), poll(2_000));
  t.is(observer.observe(seen(4), poll(1_000, 3_000)), undefined);
  t.is(observer.lease(p1)?.renewals, 5);
});

test('a new generation restarts the measurement of silence, and leases that vanished with the old one prove nothing', (t) => {
  const observer = new Observer(2_000, never);
  observer.observe(seen(1), poll(0));
  observer.observe(seen(1), poll(5_000));
  t.is(observer.silentMs(p1), 4_990);
  observer.observe(
    { generation: 'b', generationAgeMs: 0, leases: [], departed: [], view: undefined },
    poll(6_000),
  );
  t.is(observer.vanishedMs(p1), undefined);
  t.true(observer.silentMs(p1) <= 0);
  observer.observe(
    { generation: 'b', generationAgeMs: 0, leases: [], departed: [], view: undefined },
    poll(8_000),
  );
  t.is(observer.silentMs(p1), 1_990);
  t.is(observer.generationAgeMs, 1_990);
});

test('a lease that vanishes within one generation counts as removed', (t) => {
  const observer = new Observer(2_000, never);
  observer.observe(seen(1), poll(0));
  observer.observe(
    { generation: 'a', generationAgeMs: 0, leases: [], departed: [], view: undefined },
    poll(1_000),
  );
  observer.observe(
    { generation: 'a', generationAgeMs: 0, leases: [], departed: [], view: undefined },
    poll(3_000),
  );
  t.is(observer.lease(p1), undefined);
  t.is(observer.vanishedMs(p1), 2_000);
});

test('a process is free only for a time after a renewal that surely fell between two polls, if it is bound by no promise', (t) => {
  const observer = new Observer(2_000, never);
  observer.observe(seen(1), poll(1_000));
  t.false(observer.isFree(p1, 1_010, awayMs), 'at first sight the renewal may be old');
  observer.observe(seen(2), poll(1_500));
  t.true(observer.isFree(p1, 2_999, awayMs));
  t.false(observer.isFree(p1, 3_000, awayMs), 'it renewed after 1,000 at the earliest');
  observer.observe(seen(3, 'a', 4_000), poll(2_000));
  t.false(observer.isFree(p1, 2_010, awayMs), 'it is bound by its promise');
});

test('a removed lease shows no free process, however recent its last renewal', (t) => {
  const observer = new Observer(2_000, never);
  observer.observe(seen(1), poll(1_000));
  observer.observe(seen(2), poll(1_500));
  t.true(observer.isFree(p1, 1_600, awayMs));
  observer.observe({ ...seen(2), leases: [] }, poll(1_600));
  t.false(observer.isFree(p1, 1_610, awayMs));
});

function electors(
  free: readonly string[],
  holds: Readonly<Record<string, number>> = {},
  heldFree: Readonly<Record<string, number>> = {},
): Electors {
  return {
    isFree: (process: ProcessId) => free.includes(process),
    isGone: () => false,
    holds: (process: ProcessId) => viewNumber(holds[process] ?? 0),
    heldFree: (process: ProcessId) => viewNumber(heldFree[process] ?? 0),
  };
}

function viewOf(number: number, ...names: string[]) {
  return makeView(viewNumber(number), names.map(member));
}

const nothingSeized = viewNumber(0);

test('a change is allowed if half of a view is silent, but not if more are', (t) => {
  const quorum = new Quorum();
  quorum.remember(viewOf(1, 'a', 'b', 'c', 'd'));
  t.deepEqual(quorum.opposition(electors(['a', 'b']), nothingSeized).processes, []);
  t.deepEqual(quorum.opposition(electors(['a']), nothingSeized).processes.toSorted(), ['b', 'c', 'd']);
});

test('silent processes count in every view that one of them may still hold', (t) => {
  const quorum = new Quorum();
  quorum.remember(viewOf(1, 'a', 'b', 'c'));
  quorum.remember(viewOf(2, 'a', 'b', 'c', 'd'));
  const free = ['c', 'd'];
  t.deepEqual(quorum.opposition(electors(free, { a: 1, b: 2 }), nothingSeized).processes.toSorted(), [
    'a',
    'b',
  ]);
  t.deepEqual(quorum.opposition(electors(free, { a: 2, b: 2 }), nothingSeized).processes, []);
});

test('a process that held a newer view and was bound by no promise confirms nobody in an older one', (t) => {
  const quorum = new Quorum();
  quorum.remember(viewOf(1, 'a', 'b', 'c'));
  quorum.remember(viewOf(2, 'b', 'c'));
  const holds = { a: 1, b: 2 };
  t.is(quorum.opposition(electors(['c'], holds, { b: 1 }), nothingSeized).processes.length, 2);
  t.is(quorum.opposition(electors(['c'], holds, { b: 2 }), nothingSeized).processes.length, 0);
});

test('only a renewal without a promise shows in which views its process confirms nobody', (t) => {
  const observer = new Observer(2_000, never);
  observer.observe(seen(1, 'a', 0, 1), poll(1_000));
  observer.observe(seen(2, 'a', 4_000, 2), poll(1_500));
  t.is(observer.holds(p1), viewNumber(2));
  t.is(observer.heldFree(p1), viewNumber(1));
});

test('views below a seized number block nothing', (t) => {
  const quorum = new Quorum();
  quorum.remember(viewOf(1, 'a', 'b', 'c'));
  t.is(quorum.opposition(electors(['c']), viewNumber(1)).processes.length, 2);
  t.is(quorum.opposition(electors(['c']), viewNumber(1)).newest, viewNumber(1));
  t.deepEqual(quorum.opposition(electors(['c']), viewNumber(2)).processes, []);
});

test('a departed process is unbound when its last promise has expired', (t) => {
  const observer = new Observer(2_000, never);
  const departed = [{ process: p1, promisedMs: 1_000 }];
  observer.observe({ ...seen(1), departed }, poll(1_000));
  t.true(observer.hasDeparted(p1));
  t.false(observer.isUnbound(p1, 2_400, 500));
  t.true(observer.isUnbound(p1, 2_510, 500));
  observer.observe({ ...seen(1, 'b'), leases: [] }, poll(3_000));
  t.true(observer.hasDeparted(p1), 'a flush does not undo the departure');
});

test('watched silence excludes the time in which the observer could not poll', (t) => {
  const observer = new Observer(2_000, never);
  observer.observe(seen(1), poll(1_000));
  observer.observe(seen(1), poll(2_000));
  t.is(observer.watchedSilenceMs(p1), 990);
  observer.observe(seen(1), poll(9_000));
  t.is(observer.silentMs(p1), 7_990);
  t.is(observer.watchedSilenceMs(p1), 0);
  observer.observe(seen(1), poll(10_000));
  t.is(observer.watchedSilenceMs(p1), 1_000);
});

test('a renewal that the store executed late shows a member as free for that much shorter', (t) => {
  const observer = new Observer(2_000, never);
  const late = (lateMs: number, renewals: number) => ({
    ...seen(renewals),
    leases: [stored('p1', renewals, { lateMs })],
  });
  observer.observe(late(0, 1), poll(1_000));
  observer.observe(late(600, 2), poll(1_500));
  t.true(observer.isFree(p1, 2_399, awayMs));
  t.false(observer.isFree(p1, 2_400, awayMs), 'sent before 1_500 - 600, so it may confirm 2_000 after that');
});

test('a process that was never seen counts as silent only after a renewal that started after the question', (t) => {
  let nowMs = 9_100;
  const observer = new Observer(2_000, () => nowMs);
  observer.observe(seen(1), renewal(1_000));
  observer.observe(seen(2), poll(9_000));
  const joined = processId('p2');
  t.is(observer.silentMs(joined), 0, 'it may have joined since');
  nowMs = 30_000;
  // Both were in flight, and their answers waited for this process to go on.
  observer.observe(seen(3), poll(9_050));
  observer.observe(seen(4), renewal(9_100));
  t.is(observer.silentMs(joined), 0, 'both started before the question');
  observer.observe(seen(5), poll(9_900));
  t.is(observer.silentMs(joined), 0, 'it may be a former master that answers, where the process never was');
  observer.observe(seen(6), renewal(10_000));
  t.is(observer.silentMs(joined), 10_000 - 1_010);
});
