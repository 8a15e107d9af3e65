import test from 'ava';
import type { WatchedEvents } from '../../../../src/conversations/sessions/requests.js';
import { monitor } from '../../../../src/conversations/sessions/session-monitor.js';
import { LeaveController } from '../../../../src/kernel/leave-signal.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

/** A session's events, sent by the test one by one. */
class Watched implements AsyncIterable<WatchedEvents> {
  readonly #said: WatchedEvents[] = [];
  #ended = false;
  #wake: () => void = () => undefined;

  say(id: number, type: 'delta'): void {
    this.#said.push({ executionId: 'e-1', events: [{ id, event: { type, content: '' } }] });
    this.#wake();
  }

  cancel(): void {
    this.#ended = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<WatchedEvents> {
    while (!this.#ended) {
      const next = this.#said.shift();
      if (next !== undefined) yield next;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

function start(hasEnded: () => Promise<boolean> = () => Promise.resolve(false), hasLeft = false) {
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const events = new Watched();
  const leaving = new AbortController();
  const stopping = new LeaveController();
  if (hasLeft) leaving.abort();
  let text = '';
  const writer = {
    gone: leaving.signal,
    write: (chunk: string): boolean => {
      text += chunk;
      return true;
    },
    drained: () => Promise.resolve(),
  };
  const running = monitor({ events, hasEnded }, writer, time, stopping);
  return {
    time,
    events,
    running,
    leave: () => leaving.abort(),
    stop: () => stopping.leave(),
    text: () => text,
  };
}

test('a monitor ends after five minutes with an error under the id of its last event', async (t) => {
  const { time, events, running, text } = start();
  events.say(7, 'delta');
  await eventually(() => text().includes('event: delta'));
  t.regex(text(), /id: 7\nevent: delta\ndata: .*"execution_id":"e-1"/);
  time.advance(5 * 60_000 - 1);
  t.false(text().includes('STREAM_TIMEOUT'));
  t.is(text().split(': keep-alive').length - 1, 19, 'a comment every 15 s');
  time.advance(1);
  await running;
  t.regex(text(), /id: 7\nevent: error\ndata: .*"STREAM_TIMEOUT".*"timed_out":true/);
});

test('a monitor ends with its session, also during a store outage, and when its reader leaves', async (t) => {
  let looks = 0;
  const ending = start(() => {
    looks += 1;
    return looks === 1 ? Promise.reject(new Error('away')) : Promise.resolve(true);
  });
  ending.time.advance(10_000);
  await eventually(() => looks === 1);
  ending.time.advance(10_000);
  await ending.running;
  t.is(looks, 2);
  const left = start();
  left.leave();
  await left.running;
  t.false(left.text().includes('error'));
});

test('a monitor whose reader has left before it begins ends at once', async (t) => {
  const { running } = start(() => Promise.resolve(false), true);
  await t.notThrowsAsync(running);
});

test('a monitor ends when its node stops, with an error under the id of its last event', async (t) => {
  const { time, events, running, stop, text } = start();
  events.say(7, 'delta');
  await eventually(() => text().includes('event: delta'));
  stop();
  await running;
  t.regex(text(), /id: 7\nevent: error\ndata: .*"service_unavailable".*stopping.*\n\n$/);
  t.is(time.pending, 0);
});
