import test from 'ava';
import { FairLimiter } from '../../../src/kernel/fair-limiter.js';

function begin(room: FairLimiter<string>, share: string, thing: string): boolean {
  if (room.hasPlace(share)) room.enter(share);
  else {
    room.wait(share, thing);
    return false;
  }
  return true;
}

function leave(room: FairLimiter<string>, share: string): string | undefined {
  room.leave(share);
  return room.next();
}

test('a share that fills its places leaves those of the others free', (t) => {
  const room = new FairLimiter<string>({ all: 4, each: 2 });
  const hot = ['hot 1', 'hot 2', 'hot 3', 'hot 4'].map((thing) => begin(room, 'hot', thing));
  t.deepEqual(hot, [true, true, false, false]);
  t.is(room.free, 2);
  t.true(begin(room, 'calm', 'calm 1'), 'nobody waits behind the hot one');
  t.is(leave(room, 'calm'), undefined, 'the hot one has its places already');
  t.is(leave(room, 'hot'), 'hot 3');
  t.deepEqual([...room.waiting()], ['hot 4']);
});

test('waiting shares are admitted in turn, a share with all its places last', (t) => {
  const room = new FairLimiter<string>({ all: 2, each: 2 });
  for (const thing of ['hot 1', 'hot 2', 'hot 3', 'hot 4']) begin(room, 'hot', thing);
  for (const thing of ['calm 1', 'calm 2']) t.false(begin(room, 'calm', thing));
  const order: (string | undefined)[] = [];
  for (const share of ['hot', 'hot', 'hot', 'calm']) {
    const next = leave(room, share);
    if (next !== undefined) room.enter(next.split(' ')[0] ?? '');
    order.push(next);
  }
  t.deepEqual(order, ['hot 3', 'calm 1', 'hot 4', 'calm 2']);
});

test('a request that cannot wait is still counted, and takes the place of one that can', (t) => {
  const room = new FairLimiter<string>({ all: 1, each: 1 });
  room.enter('calm');
  room.enter('calm');
  t.is(room.free, -1);
  t.false(begin(room, 'other', 'other 1'));
  t.is(leave(room, 'calm'), undefined);
  t.is(leave(room, 'calm'), 'other 1');
});
