import test from 'ava';
import { LookUps } from '../../../../src/infra/storage/index.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

function build(bounds: { everyMs?: number; perQuestionMax?: number; waitingMax?: number } = {}) {
  const time = new ManualTime('2026-11-21T10:00:00Z');
  const questions: {
    keys: readonly string[];
    answer: (found: readonly string[]) => void;
    fail: () => void;
  }[] = [];
  const lookUps = new LookUps<string>({
    time,
    everyMs: 0,
    perQuestionMax: 3,
    waitingMax: 5,
    ...bounds,
    find: (keys) =>
      new Promise((resolve, reject) => {
        questions.push({
          keys,
          answer: (found) => resolve(new Map(found.map((key) => [key, `row of ${key}`]))),
          fail: () => reject(new Error('the store is away')),
        });
      }),
  });
  return { time, questions, lookUps };
}

/** Lets answered look-ups continue. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a single look-up is sent at once, and those during it go together', async (t) => {
  const { questions, lookUps } = build();
  const first = lookUps.get('a');
  t.deepEqual(
    questions.map(({ keys }) => keys),
    [['a']],
  );
  const others = ['b', 'c', 'b', 'd', 'e'].map((key) => lookUps.get(key));
  t.is(questions.length, 1);
  questions[0]?.answer(['a']);
  t.is(await first, 'row of a');
  await settle();
  t.deepEqual(questions[1]?.keys, ['b', 'c', 'd'], 'no more than one question may hold, and none twice');
  questions[1]?.answer(['c']);
  await settle();
  t.deepEqual(questions[2]?.keys, ['e']);
  questions[2]?.answer([]);
  t.deepEqual(await Promise.all(others), [undefined, 'row of c', undefined, undefined, undefined]);
});

test('a paced queue sends a bounded number, however many arrive', async (t) => {
  const { time, questions, lookUps } = build({ everyMs: 100 });
  const first = lookUps.get('a');
  questions[0]?.answer([]);
  await first;
  const second = lookUps.get('b');
  t.is(questions.length, 1);
  time.advance(99);
  t.is(questions.length, 1);
  time.advance(1);
  t.is(questions.length, 2);
  questions[1]?.answer(['b']);
  t.is(await second, 'row of b');
});

test('a failed query fails only its callers, and a full queue refuses', async (t) => {
  const { questions, lookUps } = build();
  const first = lookUps.get('a');
  const waiting = ['b', 'c', 'd', 'e', 'f'].map((key) => lookUps.get(key));
  await t.throwsAsync(lookUps.get('g'), { message: /too many look-ups are waiting/ });
  questions[0]?.fail();
  await t.throwsAsync(first, { message: 'the store is away' });
  await settle();
  questions[1]?.answer(['b', 'c', 'd']);
  await settle();
  questions[2]?.answer(['e', 'f']);
  t.is((await Promise.all(waiting)).filter((row) => row !== undefined).length, 5);
});
