import test from 'ava';
import { ignored, person, read, refused } from './reading.js';

test('options.timeout_ms is accepted from any credential and listed by that name', (t) => {
  const turn = read({ options: { timeout_ms: 5_000.9 } }, person);
  t.is(turn.timeoutMs, 5_000);
  t.deepEqual(turn.acceptedFields, ['message', 'options.timeout_ms']);
  t.is(read({ options: { timeout_ms: 1_000 } }).timeoutMs, 1_000);
});

test('a time-out that is non-numeric or below 1000 ms is ignored', (t) => {
  for (const wrong of [999, 0, -5_000, '5000', null, true, {}, []]) {
    const turn = read({ options: { timeout_ms: wrong } });
    t.is(turn.timeoutMs, undefined, JSON.stringify(wrong));
    t.deepEqual(turn.acceptedFields, ['message']);
  }
  t.is(read('{"message":"hi","options":{"timeout_ms":1e999}}').timeoutMs, undefined);
});

test('other options have no effect and are listed', (t) => {
  const turn = read({ options: { temperature: 1, max_tokens: 5, timeout_ms: 2_000 } });
  t.deepEqual(ignored(turn), {
    'options.temperature': 'not_supported',
    'options.max_tokens': 'not_supported',
  });
  t.is(turn.timeoutMs, 2_000);
});

test('options that are not an object are refused', (t) => {
  for (const wrong of [null, [], 'x', 5_000]) refused(t, { options: wrong }, 'options');
});
