import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { KeyedMessage } from '../../../src/automation/intake/incoming-request.js';
import type { MessageKey } from '../../../src/automation/intake/message-key.js';
import { answerOf, RepeatedMessages } from '../../../src/automation/intake/repeated-messages.js';
import { PlatformError } from '../../../src/kernel/errors.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { ManualTime } from '../../support/clocks/manual-time.js';

const answer = { status: 200, contentType: 'application/json', body: '{"response":"hi"}' };
const lookEveryMs = 250;
const waitingMax = 100;

/** Everything behind these repeats is in memory: what can go on has done so by the next event of the loop. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Repeats on one node, and the row of their first message, which runs until the test ends it. */
function runningMessage() {
  const time = new ManualTime('2026-05-01T10:00:00Z');
  const first: { answer: typeof answer | null; failure: Error | undefined } = {
    answer: null,
    failure: undefined,
  };
  const counts = { reads: 0 };
  const row = {
    key: 'id:one',
    seq: 1,
    session_id: randomUUID(),
    execution_id: randomUUID(),
    payload_hash: '',
    sealed: Buffer.from(''),
    is_over: false,
  };
  const reads: unknown = {
    inTenant: async (_scope: unknown, _statement: unknown, [, triggerId]: readonly unknown[]) => {
      counts.reads += 1;
      if (first.failure !== undefined) throw first.failure;
      const state = first.answer === null ? 'running' : 'done';
      return [{ ...row, trigger_id: triggerId, state, answer: first.answer }];
    },
  };
  const [store, scope] = [{}, tenantScope(randomUUID())];
  const repeats = new RepeatedMessages(store as never, reads as never, time);
  const triggerId = randomUUID();
  const repeat = (of = triggerId, name = 'id:one') => {
    const key: MessageKey = { key: name, keepMs: 1_000, strict: false };
    const asked: unknown = { trigger: { scope, id: of }, config: {}, hash: '' };
    return repeats.answer(asked as KeyedMessage, key);
  };
  /** Repeats that have come so far that they wait. */
  const waitingRepeats = async (count: number) => {
    const all = Array.from({ length: count }, () => repeat());
    await settled();
    return all;
  };
  /** Lets the pause between two reads pass as often as it fits. */
  const passMs = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += lookEveryMs) {
      time.advance(lookEveryMs);
      await settled();
    }
  };
  return { time, first, counts, repeat, waitingRepeats, passMs };
}

test('repeats of one message that wait on a node share their reads, and all get the answer', async (t) => {
  const { time, first, counts, waitingRepeats, passMs } = runningMessage();
  const all = await waitingRepeats(waitingMax);
  counts.reads = 0;
  for (let looks = 1; looks <= 8; looks += 1) {
    await passMs(lookEveryMs);
    t.is(counts.reads, looks);
  }
  first.answer = answer;
  time.advance(lookEveryMs);
  for (const one of await Promise.all(all)) t.deepEqual(one, { answer });
  t.is(counts.reads, 9);
  t.is(time.pending, 0);
});

test('further repeats of a trigger are refused for now, and those of other triggers wait', async (t) => {
  const { time, first, repeat, waitingRepeats } = runningMessage();
  const all = await waitingRepeats(waitingMax);
  const refused = await t.throwsAsync(repeat(), { instanceOf: PlatformError });
  t.like(refused, { code: 'rate_limit_exceeded', status: 429, retryAfterSeconds: 5 });
  t.like(refused.details, { limit: waitingMax, remaining: 0, retry_after: 5 });
  await t.throwsAsync(repeat(undefined, 'id:two'), { code: 'rate_limit_exceeded' });
  const other = repeat(randomUUID());
  await settled();
  first.answer = answer;
  t.deepEqual(await repeat(), { answer }, 'a known answer needs no place');
  time.advance(lookEveryMs);
  for (const one of await Promise.all([...all, other])) t.deepEqual(one, { answer });
  first.answer = null;
  const [again] = await waitingRepeats(1);
  first.answer = answer;
  time.advance(lookEveryMs);
  t.deepEqual(await again, { answer }, 'places are free again');
});

test('each repeat waits for its own longest time, and nothing is read when none waits', async (t) => {
  const { time, counts, waitingRepeats, passMs } = runningMessage();
  const [early] = await waitingRepeats(1);
  await passMs(100_000);
  const [late] = await waitingRepeats(1);
  await passMs(80_000);
  t.deepEqual(await early, { answer: undefined });
  t.throws(() => answerOf({ answer: undefined }), { code: 'service_unavailable' });
  t.is(time.pending, 2, 'the later one still waits');
  await passMs(100_000);
  t.deepEqual(await late, { answer: undefined });
  await passMs(lookEveryMs);
  const { reads } = counts;
  await passMs(10_000);
  t.is(counts.reads, reads);
  t.is(time.pending, 0);
});

test('a read that fails fails the repeats that wait for it, and not the later ones', async (t) => {
  const { time, first, waitingRepeats } = runningMessage();
  const all = await waitingRepeats(3);
  first.failure = new Error('the store is away');
  time.advance(lookEveryMs);
  for (const end of await Promise.allSettled(all)) t.like(end, { status: 'rejected', reason: first.failure });
  t.is(time.pending, 0);
  first.failure = undefined;
  const [again] = await waitingRepeats(1);
  first.answer = answer;
  time.advance(lookEveryMs);
  t.deepEqual(await again, { answer });
});
