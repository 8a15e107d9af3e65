import test from 'ava';
import fc from 'fast-check';
import { FairQueue, SharedBound } from '../../../cluster/mailbox/fair-queue.js';
import { Fifo } from '../../../cluster/mailbox/fifo.js';
import { Mailbox, type Lane } from '../../../cluster/mailbox/mailbox.js';

interface TestMail {
  readonly name: string;
  readonly lane: Lane;
  readonly streams: boolean;
  readonly group: string;
  readonly bytes: number;
  ended: boolean;
}

function mail(name: string, changes: Partial<TestMail> = {}): TestMail {
  return { name, lane: 'turn', streams: false, group: 'g', bytes: 10, ended: false, ...changes };
}

function mailbox(changes: object = {}) {
  const bounds = {
    mailboxCountMax: 3,
    mailboxBytesMax: 100,
    controlCountMax: 2,
    streamCountMax: 2,
    ...changes,
  };
  return new Mailbox<TestMail>(bounds, 'g');
}

test('a queue returns its items in order for any mix of pushes and shifts', (t) => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 200 }), (steps) => {
      const fifo = new Fifo<number>();
      const model: number[] = [];
      for (const [index, isPush] of steps.entries()) {
        if (isPush) {
          fifo.push(index);
          model.push(index);
        } else t.is(fifo.shift(), model.shift());
        t.is(fifo.size, model.length);
      }
    }),
  );
});

test('a mailbox that is full by count refuses, and accepts again after one is taken', (t) => {
  const box = mailbox();
  for (const name of ['a', 'b', 'c']) t.true(box.offer(mail(name)));
  t.false(box.offer(mail('d')));
  t.is(box.take('turn')?.name, 'a');
  t.true(box.offer(mail('d')));
});

test('a mailbox that is full by bytes refuses, but an empty one accepts a single message above the bound', (t) => {
  const box = mailbox();
  t.true(box.offer(mail('big', { bytes: 500 })));
  t.false(box.offer(mail('small', { bytes: 1 })));
  t.is(box.take('turn')?.name, 'big');
  t.is(box.bytes, 0);
  t.true(box.offer(mail('small', { bytes: 1 })));
});

test('control messages overtake waiting turns and are accepted when the turn lane is full', (t) => {
  const box = mailbox();
  for (const name of ['a', 'b', 'c']) box.offer(mail(name));
  t.true(box.offer(mail('stop', { lane: 'control' })));
  t.is(box.take('control')?.name, 'stop');
  t.is(box.take('turn')?.name, 'a');
});

test('the control lane has a bound of its own', (t) => {
  const box = mailbox();
  t.true(box.offer(mail('1', { lane: 'control' })));
  t.true(box.offer(mail('2', { lane: 'control' })));
  t.false(box.offer(mail('3', { lane: 'control' })));
  t.true(box.offer(mail('turn')));
});

test('a message that ends while it waits frees its place at once and is never returned', (t) => {
  const box = mailbox();
  const second = mail('b');
  box.offer(mail('a'));
  box.offer(second);
  box.offer(mail('c'));
  second.ended = true;
  box.forget(second);
  t.is(box.waiting, 2);
  t.true(box.offer(mail('d')));
  t.deepEqual(
    [box.take('turn')?.name, box.take('turn')?.name, box.take('turn')?.name, box.take('turn')?.name],
    ['a', 'c', 'd', undefined],
  );
  t.is(box.waiting, 0);
  t.is(box.bytes, 0);
});

test('a mailbox with several sending groups serves them in turn, each in order', (t) => {
  const box = mailbox({ mailboxCountMax: 100 });
  for (let index = 0; index < 5; index += 1) box.offer(mail(`loud${index}`, { group: 'loud' }));
  box.offer(mail('quiet0', { group: 'quiet' }));
  box.offer(mail('quiet1', { group: 'quiet' }));
  const order = Array.from({ length: 7 }, () => box.take('turn')?.name);
  t.deepEqual(order, ['loud0', 'quiet0', 'loud1', 'quiet1', 'loud2', 'loud3', 'loud4']);
});

test('no group waits for more than one item of each other group', (t) => {
  const queue = new FairQueue<string>();
  for (let index = 0; index < 1_000; index += 1) queue.push('loud', 'loud');
  queue.push('a', 'a');
  queue.push('b', 'b');
  t.deepEqual([queue.shift(), queue.shift(), queue.shift(), queue.shift()], ['loud', 'a', 'b', 'loud']);
  t.is(queue.size, 998);
});

test('one group alone takes half of a shared bound, and a newcomer still finds room', (t) => {
  const bound = new SharedBound(100);
  let loud = 0;
  while (bound.take('loud')) loud += 1;
  t.is(loud, 50);
  let quiet = 0;
  while (bound.take('quiet')) quiet += 1;
  t.is(quiet, 25);
  for (let index = 0; index < loud; index += 1) bound.give('loud');
  for (let index = 0; index < quiet; index += 1) bound.give('quiet');
  t.is(bound.total, 0);
  bound.give('quiet');
  t.is(bound.total, 0);
});

test('messages that end while they wait leave memory, though nothing is taken', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ group: fc.constantFrom('g', 'h', 'i'), control: fc.boolean() }), {
        maxLength: 60,
      }),
      (kept) => {
        const box = mailbox({ mailboxCountMax: 10_000, mailboxBytesMax: 1e9, controlCountMax: 10_000 });
        const waiting = kept.map(({ group, control }, index) =>
          mail(`kept ${index}`, { group, lane: control ? 'control' : 'turn' }),
        );
        for (const one of waiting) box.offer(one);
        for (let index = 0; index < 500; index += 1) {
          const ending = mail(`ending ${index}`, { group: index % 2 === 0 ? 'g' : 'h' });
          box.offer(ending);
          ending.ended = true;
          box.forget(ending);
          t.true(box.held <= 2 * kept.length + 17, `${box.held} are held of ${box.waiting} that wait`);
        }
        t.is(box.waiting, kept.length);
        const taken = new Set<string>();
        for (const lane of ['control', 'turn'] as const) {
          for (let one = box.take(lane); one !== undefined; one = box.take(lane)) taken.add(one.name);
        }
        t.deepEqual([...taken].toSorted(), waiting.map(({ name }) => name).toSorted());
        t.deepEqual([box.held, box.bytes], [0, 0]);
        const group = waiting.filter(({ lane, group: of }) => lane === 'turn' && of === 'g');
        t.deepEqual(
          [...taken].filter((name) => group.some((one) => one.name === name)),
          group.map(({ name }) => name),
        );
      },
    ),
    { numRuns: 20 },
  );
});

test('control messages are bounded by bytes of their own', (t) => {
  const box = mailbox({ mailboxBytesMax: 100, controlCountMax: 10 });
  const large = (name: string, lane: Lane) => mail(name, { lane, bytes: 60 });
  t.deepEqual([box.offer(large('t1', 'turn')), box.offer(large('t2', 'turn'))], [true, false]);
  t.deepEqual([box.offer(large('c1', 'control')), box.offer(large('c2', 'control'))], [true, false]);
  t.is(box.bytes, 120);
  box.take('control');
  t.true(box.offer(large('c3', 'control')));
});

test('streams in the control lane do not take the places of control calls, nor these theirs', (t) => {
  const box = mailbox({ mailboxBytesMax: 1_000, controlCountMax: 1, streamCountMax: 2 });
  const stream = (name: string) => mail(name, { lane: 'control', streams: true });
  t.deepEqual(
    [box.offer(stream('s1')), box.offer(stream('s2')), box.offer(stream('s3'))],
    [true, true, false],
  );
  t.deepEqual(
    [box.offer(mail('c1', { lane: 'control' })), box.offer(mail('c2', { lane: 'control' }))],
    [true, false],
  );
  t.is(box.waiting, 3);
  t.is(box.take('control')?.name, 's1');
  t.true(box.offer(stream('s4')), 'its place is free again');
  const gone = stream('s5');
  t.is(box.take('control')?.name, 's2');
  box.offer(gone);
  gone.ended = true;
  box.forget(gone);
  t.true(box.offer(stream('s6')), 'the place of one that ended is free again');
});
