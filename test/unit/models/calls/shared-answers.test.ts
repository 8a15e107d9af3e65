// Identical calls that wait for the answer of the first, on a clock that the test moves.
import test from 'ava';
import { LeaveController, type LlmEvent, zeroUsage } from '../../../../src/llm/index.js';
import type { RunningCall, ServedCall } from '../../../../src/models/calls/model-calls.js';
import { AnswerStore } from '../../../../src/models/calls/reply-store.js';
import { readingMsMax, ResponseCache } from '../../../../src/models/calls/response-cache.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

const served: ServedCall = {
  callId: 'c',
  model: 'sim.echo',
  vendor: 'sim',
  payer: 'platform',
  stop: 'stop',
  cached: false,
  usage: zeroUsage,
  cost: 0,
  latencyMs: 1,
  firstSignalMs: 1,
  routing: undefined,
};
const piece: readonly LlmEvent[] = [{ type: 'content', text: 'Hi' }];

/** A cache before a vendor that gives one piece, once the test lets it. */
function cacheBefore() {
  const time = new ManualTime('2026-11-30T12:00:00Z');
  const cache = new ResponseCache(new AnswerStore({ shared: undefined, time }), time);
  const vendor = { asked: 0, hits: 0, answers: Promise.resolve() };
  const ask = (): RunningCall => {
    vendor.asked += 1;
    return {
      target: undefined,
      run: async (hear) => {
        await vendor.answers;
        await hear(piece);
        return served;
      },
    };
  };
  const serve = (): Promise<RunningCall> =>
    cache.serve('key', new LeaveController(), ask, () => {
      vendor.hits += 1;
      return Promise.resolve();
    });
  return { time, vendor, serve };
}

test('calls that wait for the first one do not wait for its slow reader', async (t) => {
  const { time, vendor, serve } = cacheBefore();
  let read: () => void = () => undefined;
  const reading = new Promise<void>((resolve) => (read = resolve));
  let begun = false;
  const slow = (await serve()).run(() => {
    begun = true;
    return reading;
  });
  await eventually(() => begun, { what: 'the reader has the piece' });
  const waiting = [serve(), serve()].map(async (call) => (await call).run(() => undefined));
  time.advance(readingMsMax - 1);
  t.is(vendor.asked, 1);
  time.advance(1);
  for (const each of await Promise.all(waiting)) t.like(each, { model: 'sim.echo' });
  t.is(vendor.asked, 2, 'one took the place of the first, and the other waited for it');
  t.is(vendor.hits, 1);
  read();
  t.is(await slow, served);
  t.is(time.pending, 0);
});

test('calls that wait for the first one wait for its vendor, however long it takes', async (t) => {
  const { time, vendor, serve } = cacheBefore();
  let answer: () => void = () => undefined;
  vendor.answers = new Promise<void>((resolve) => (answer = resolve));
  const first = (await serve()).run(() => Promise.resolve());
  const second = serve().then((call) => call.run(() => undefined));
  time.advance(10 * readingMsMax);
  answer();
  t.is(await first, served);
  t.like(await second, { cached: true });
  t.is(vendor.asked, 1);
});
