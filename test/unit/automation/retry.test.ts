import test from 'ava';
import { afterAttempt, attemptsMax } from '../../../src/automation/outbox/retry.js';

const nowMs = Date.parse('2026-11-23T10:00:00Z');
/** Without jitter to either side. */
const options = { fraction: 0.5, nowMs };

function answered(status: number, retryAfter?: string) {
  return afterAttempt({ kind: 'answered', status, retryAfter }, 1, options);
}

test('an answer that refuses for good is not repeated', (t) => {
  for (const status of [200, 202, 299]) t.is(answered(status), 'sent', `${status}`);
  for (const status of [301, 400, 401, 404, 410, 422]) t.is(answered(status), 'give-up', `${status}`);
  for (const status of [429, 500, 502, 503]) t.deepEqual(answered(status), { waitMs: 1_000 }, `${status}`);
});

test('an attempt without an answer is repeated if another can succeed', (t) => {
  const failed = (final: boolean) => afterAttempt({ kind: 'failed', error: 'refused', final }, 1, options);
  t.deepEqual(failed(false), { waitMs: 1_000 });
  t.is(failed(true), 'give-up');
});

test('a receiver that asks for a pause gets it, up to an hour', (t) => {
  t.deepEqual(answered(429, '20'), { waitMs: 20_000 });
  t.deepEqual(answered(503, 'Mon, 23 Nov 2026 10:00:30 GMT'), { waitMs: 30_000 });
  t.deepEqual(answered(503, '999999'), { waitMs: 3_600_000 });
  t.deepEqual(answered(503, 'Mon, 23 Nov 2026 09:00:00 GMT'), { waitMs: 1_000 }, 'a time that has passed');
  t.deepEqual(answered(503, 'soon'), { waitMs: 1_000 });
});

test('a fault under a success status may ask for a pause too', (t) => {
  const failed = { kind: 'failed', error: 'refused', final: false, retryAfter: '20' } as const;
  t.deepEqual(afterAttempt(failed, 1, options), { waitMs: 20_000 });
  t.is(afterAttempt({ ...failed, final: true }, 1, options), 'give-up');
});

test('the pauses grow, differ between receivers, and end after the last attempt', (t) => {
  const failed = { kind: 'failed', error: 'refused', final: false } as const;
  const pauses = (fraction: number): unknown[] =>
    Array.from({ length: attemptsMax }, (_, before) => afterAttempt(failed, before + 1, { fraction, nowMs }));
  const waits = (...ms: number[]) => [...ms.map((waitMs) => ({ waitMs })), 'give-up'];
  t.deepEqual(pauses(0), waits(900, 4_500, 27_000, 108_000));
  t.deepEqual(pauses(1), waits(1_100, 5_500, 33_000, 132_000));
});
