import test from 'ava';
import { doneEvent } from '../../../../src/conversations/invocation/index.js';
import {
  compact,
  placeAfter,
  textOf,
  TurnLog,
  unfoldedAfter,
} from '../../../../src/conversations/sessions/turn-log.js';

function log(epoch: number): TurnLog {
  const made = new TurnLog(epoch);
  const ids = { session_id: 's', execution_id: 'e' };
  made.append({ type: 'metadata', accepted_fields: [], ignored_fields: [], ...ids });
  made.append({ type: 'delta', content: 'one ' });
  made.append({ type: 'delta', content: 'two' });
  made.append({ type: 'thinking', content: 'hm' });
  made.append({ type: 'delta', content: ' three' });
  made.append(doneEvent(ids, 'COMPLETED'));
  return made;
}

test('ids are the epoch times 2^32 plus a number, so that a new owner is above all older ones', (t) => {
  const ids = log(3).events.map(({ id }) => id);
  t.deepEqual(
    ids,
    [1, 2, 3, 4, 5, 6].map((number) => 3 * 2 ** 32 + number),
  );
  t.true((log(4).events[0]?.id ?? 0) > (ids.at(-1) ?? 0));
});

test('a reader continues after its last event, and one of an older owner after the first', (t) => {
  const { events } = log(3);
  t.is(placeAfter(events, 0), 0);
  for (const [place, { id }] of events.entries()) t.is(placeAfter(events, id), place + 1);
  t.is(placeAfter(events, 2 * 2 ** 32 + 5), 1);
  t.is(placeAfter(events, 9 * 2 ** 32), events.length);
});

test('compactly stored events unfold into the same events', (t) => {
  const { events } = log(7);
  const stored = JSON.parse(JSON.stringify(compact(events)));
  t.true(stored.length < events.length);
  const texts = events.map(textOf);
  for (const after of [0, 2 * 2 ** 32 + 5, 9 * 2 ** 32, ...events.map(({ id }) => id)])
    t.deepEqual([...unfoldedAfter(stored, after)], texts.slice(placeAfter(events, after)), `after ${after}`);
});
