import { setImmediate as nextRound } from 'node:timers/promises';
import test from 'ava';
import { systemTime } from '../../../../cluster/index.js';
import { failureReport } from '../../../../src/automation/messages/failure-report.js';
import { ClaimLoop, type ClaimLoopParts } from '../../../../src/infra/claims/claim-loop.js';
import { eventually } from '../../../support/clocks/eventually.js';

function rounds(parts: Partial<ClaimLoopParts<string>>) {
  const reports: string[] = [];
  const made = new ClaimLoop<string>({
    time: systemTime,
    keyOf: (subject) => subject,
    work: async () => undefined,
    findDue: async () => [],
    everyMs: 5,
    shareOf: (subject) => subject.charAt(0),
    room: { all: 10, each: 10 },
    names: { working: 'working', finding: 'finding' },
    report: (attempted) => reports.push(attempted),
    ...parts,
  });
  return { made, reports };
}

test('a subject has one run at a time, and one more for requests during it', async (t) => {
  const released: (() => void)[] = [];
  let most = 0;
  let atOnce = 0;
  const { made } = rounds({
    work: async () => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await new Promise<void>((resolve) => released.push(resolve));
      atOnce -= 1;
      return undefined;
    },
  });
  made.ask('one');
  made.ask('one');
  made.ask('one');
  await eventually(() => released.length === 1);
  released[0]?.();
  await eventually(() => released.length === 2);
  released[1]?.();
  await made.stop();
  t.is(released.length, 2);
  t.is(most, 1);
});

test('a stop waits for the work in progress', async (t) => {
  let end: (() => void) | undefined;
  const { made } = rounds({
    work: async () => {
      await new Promise<void>((resolve) => (end = resolve));
      return undefined;
    },
  });
  made.ask('one');
  await eventually(() => end !== undefined);
  let stopped = false;
  const stopping = made.stop().then(() => (stopped = true));
  for (let round = 0; round < 3; round += 1) await nextRound();
  t.false(stopped);
  end?.();
  await stopping;
  t.true(stopped);
});

test('subjects beyond the bound wait, and none is forgotten', async (t) => {
  const worked: string[] = [];
  const { made } = rounds({
    room: { all: 2, each: 2 },
    work: async (subject) => {
      await Promise.resolve();
      worked.push(subject);
      return undefined;
    },
  });
  const subjects = ['a', 'b', 'c', 'd', 'e'];
  for (const subject of subjects) made.ask(subject);
  await eventually(() => worked.length === subjects.length);
  t.deepEqual(worked.toSorted(), subjects);
  await made.stop();
});

test('a subject with many requests and slow work delays no other', async (t) => {
  const begun: string[] = [];
  const released: (() => void)[] = [];
  const { made } = rounds({
    room: { all: 4, each: 2 },
    work: async (subject) => {
      begun.push(subject);
      if (subject.startsWith('h')) await new Promise<void>((resolve) => released.push(resolve));
      return undefined;
    },
  });
  for (let index = 0; index < 20; index += 1) made.ask(`hot ${index}`);
  made.ask('hot 2');
  made.ask('calm');
  t.deepEqual(begun, ['hot 0', 'hot 1', 'calm']);
  for (let next = 2; next <= 20; next += 1) {
    released.shift()?.();
    await eventually(() => begun.length === Math.min(21, next + 2), { everyMs: 1 });
  }
  for (const release of released) release();
  await made.stop();
  t.is(new Set(begun).size, begun.length, 'each once, though one was asked for twice');
});

test('failed work is reported and repeated, and polls continue after a failure', async (t) => {
  let looks = 0;
  let works = 0;
  const { made, reports } = rounds({
    findDue: async () => {
      looks += 1;
      if (looks === 1) throw new Error('away');
      return looks === 2 ? ['one'] : [];
    },
    work: async () => {
      works += 1;
      if (works === 1) throw new Error('broken');
      return undefined;
    },
  });
  made.start();
  await eventually(() => works === 2, { timeoutMs: 20_000 });
  await made.stop();
  t.deepEqual(reports, ['finding', 'working']);
});

test('every failure is counted, and each kind is logged once a minute', (t) => {
  const counted: string[] = [];
  const told: string[] = [];
  let nowMs = 0;
  const report = failureReport({
    time: { ...systemTime, monotonicMs: () => nowMs },
    measures: { failed: (attempted) => counted.push(attempted) },
    report: (attempted) => told.push(attempted),
  });
  for (const attempted of ['looking', 'looking', 'sending']) report(attempted, new Error('away'));
  nowMs = 60_000;
  report('looking', new Error('away'));
  t.deepEqual(counted, ['looking', 'looking', 'sending', 'looking']);
  t.deepEqual(told, ['looking', 'sending', 'looking']);
});
