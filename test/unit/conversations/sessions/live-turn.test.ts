import test from 'ava';
import { LiveTurn } from '../../../../src/conversations/sessions/live-turn.js';
import type { ExecutionRow } from '../../../../src/conversations/sessions/rows.js';

test('a reader that reads a muted turn in parts gets each event once', (t) => {
  const turn = new LiveTurn({ id: 'e' } as ExecutionRow, 1);
  for (let at = 0; at < 20; at += 1) {
    turn.log.append(at % 2 === 0 ? { type: 'delta', content: 'x' } : { type: 'phase', name: 'model' });
  }
  turn.mute();
  turn.log.append({ type: 'phase', name: 'finish' });
  const read: number[] = [];
  for (let place = 0; place < turn.log.events.length; place += 4) {
    read.push(...turn.eventsFrom(place, place + 4).map(({ id }) => id));
  }
  t.deepEqual(
    read,
    turn.visibleEvents().map(({ id }) => id),
  );
  t.is(read.length, 11);
});
