import test from 'ava';
import {
  doneEvent,
  encodeEvent,
  type StreamEvent,
  transportExpiry,
} from '../../../../src/conversations/invocation/index.js';

const ids = { session_id: 's-1', execution_id: 'e-1' };

test('an event is its id, its type and its JSON with the same type', (t) => {
  const event: StreamEvent = { type: 'delta', content: 'two\nlines\r\u2028and more' };
  const text = encodeEvent(7n, event);
  const [id, type, data, ...rest] = text.split('\n');
  t.is(id, 'id: 7');
  t.is(type, 'event: delta');
  t.deepEqual(JSON.parse(data?.replace(/^data: /, '') ?? ''), event);
  t.deepEqual(rest, ['', '']);
});

test('done reports how the turn ended, and which deadline ended it', (t) => {
  t.deepEqual(doneEvent(ids, 'COMPLETED'), { type: 'done', outcome: 'COMPLETED', ...ids });
  t.deepEqual(doneEvent(ids, 'TIMEOUT', 'idle'), {
    type: 'done',
    outcome: 'TIMEOUT',
    ...ids,
    timed_out: true,
    timeout_clock: 'idle',
  });
});

test('an expired connection reports that in an error', (t) => {
  t.deepEqual(transportExpiry('STREAM_TIMEOUT', 'over'), {
    type: 'error',
    code: 'STREAM_TIMEOUT',
    message: 'over',
    timed_out: true,
  });
});
