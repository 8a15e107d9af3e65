// A turn's events on their way to a client that reads slowly, or not at all.
import test from 'ava';
import { EventPump } from '../../../../src/conversations/sessions/event-pump.js';
import { type EventText, textOf } from '../../../../src/conversations/sessions/turn-log.js';
import { LeaveController } from '../../../../src/kernel/leave-signal.js';
import { eventOf, Owner, SlowClient, startPump } from '../../../support/clients/pumped-turn.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';
import { eventually } from '../../../support/clocks/eventually.js';

test('unsent text of a slow client is dropped at the barrier, which is passed when the rest is sent', async (t) => {
  const { client, owner, running, pump } = startPump();
  await owner.say(['metadata', 'delta']);
  await eventually(() => client.isWaitedFor);
  await owner.say(['delta', 'tool', 'thinking']);
  await owner.say(['delta', 'response']);
  await owner.say(['status'], { barrier: 7 });
  await eventually(() => owner.asked === 4);
  t.deepEqual(client.types, ['metadata', 'delta'], 'the connection is full');
  t.deepEqual(owner.passedBarriers, [], 'what may still be shown is not out');
  client.isFast = true;
  client.read();
  await eventually(() => owner.passedBarriers.length === 1);
  t.deepEqual(owner.passedBarriers, [7]);
  t.deepEqual(client.types, ['metadata', 'delta', 'tool', 'status']);
  for (const lost of ['text 3', 'text 5', 'text 6', 'text 7']) t.false(client.text.includes(lost), lost);
  await owner.say(['done']);
  await owner.end();
  await running;
  t.is(client.types.at(-1), 'done');
  t.true(pump.isDone);
});

test('the connection of a client that does not take what comes before the barrier in time is closed', async (t) => {
  const { client, owner, running, pump, time } = startPump();
  await owner.say(['metadata', 'delta']);
  await eventually(() => client.isWaitedFor);
  await owner.say(['status'], { barrier: 7 });
  await eventually(() => owner.asked === 2 && !owner.isRead);
  time.advance(999);
  t.false(client.isCut);
  time.advance(1);
  await running;
  t.true(client.isCut);
  t.deepEqual(owner.passedBarriers, [], 'the owner no longer waits for it');
  t.deepEqual(client.types, ['metadata', 'delta']);
  t.false(pump.isDone);
});

test('an owner is not read further while a megabyte waits for a slow client', async (t) => {
  const { client, owner, running } = startPump();
  await owner.say(['metadata']);
  await eventually(() => client.isWaitedFor);
  const big = { id: 9, event: eventOf('delta', 'x'.repeat(1024 * 1024)) };
  await owner.say([], { events: [big] });
  await new Promise((resolve) => setImmediate(resolve));
  t.is(owner.asked, 2);
  t.false(owner.isRead);
  client.isFast = true;
  client.read();
  await eventually(() => owner.isRead);
  client.leave();
  await running;
});

test('a client a megabyte behind is cut off before its owner could end a takeover without it', async (t) => {
  const { client, owner, running, time } = startPump();
  await owner.say(['metadata']);
  await eventually(() => client.isWaitedFor);
  const big = { id: 9, event: eventOf('delta', 'x'.repeat(1024 * 1024)) };
  await owner.say([], { events: [big] });
  await eventually(() => time.pending === 2, { what: 'a time limit beside the comments' });
  time.advance(1_000);
  await running;
  t.true(client.isCut);
  t.deepEqual(client.types, ['metadata']);
});

test('a client that was not behind has longer for one great event', async (t) => {
  const { client, owner, running, time } = startPump();
  const great = { id: 9, event: eventOf('response', 'x'.repeat(2 * 1024 * 1024)) };
  await owner.say([], { events: [great] });
  await eventually(() => client.isWaitedFor);
  time.advance(30_000);
  t.false(client.isCut);
  client.isFast = true;
  client.read();
  await owner.say(['done']);
  await owner.end();
  await running;
  t.deepEqual(client.types, ['response', 'done']);
});

test('a client whose owner failed is informed under its last sent event, and returns for the rest', async (t) => {
  const { client, owner, running, pump } = startPump();
  await owner.say(['metadata', 'delta']);
  await eventually(() => client.isWaitedFor);
  await owner.say(['delta']);
  await owner.end(new Error('cut'));
  await new Promise((resolve) => setImmediate(resolve));
  client.isFast = true;
  client.read();
  await running;
  t.deepEqual(client.types, ['metadata', 'delta', 'error']);
  t.regex(client.text, /id: 2\nevent: error\ndata: .*"service_unavailable"/);
  t.false(pump.isDone);
});

test('a stream that broke leaves no timer behind', async (t) => {
  const { client, owner, running, time } = startPump();
  client.isFast = true;
  await owner.say(['metadata'], { deadlineInMs: 20_000 });
  await owner.end();
  await running;
  t.is(client.types.at(-1), 'error');
  t.is(time.pending, 0);
});

test('the stream of a client that was behind at the end of its turn leaves no timer behind', async (t) => {
  const { client, owner, running, pump, time } = startPump();
  await owner.say(['metadata']);
  await eventually(() => client.isWaitedFor);
  await owner.say(['delta', 'done']);
  await owner.end();
  await eventually(() => time.pending === 0, { what: 'the reading has ended' });
  client.isFast = true;
  client.read();
  await running;
  t.true(pump.isDone);
  t.is(client.types.at(-1), 'done');
  t.is(time.pending, 0);
});

test('an owner silent for 15 s past its deadline is given up, and a comment is sent every 15 s until then', async (t) => {
  const { client, owner, running, time } = startPump();
  client.isFast = true;
  await owner.say(['metadata'], { deadlineInMs: 20_000 });
  await eventually(() => owner.isRead);
  time.advance(34_999);
  t.is(client.text.split(': keep-alive').length - 1, 2);
  t.false(client.text.includes('EXECUTION_TIMEOUT'));
  time.advance(1);
  await running;
  t.regex(client.text, /id: 1\nevent: error\ndata: .*"EXECUTION_TIMEOUT".*"timed_out":true/);
});

test('a client that left before its turn was accepted is not waited for', async (t) => {
  const client = new SlowClient();
  client.leave();
  const pump = new EventPump(client, new ManualTime('2026-01-01T00:00:00Z'), new LeaveController(), 0);
  await pump.run(new Owner());
  t.false(pump.isDone, 'the turn goes on, and its caller may cancel it');
});

/** A stored turn of 2 MB, whose events are made as they are asked for. */
class StoredTurn implements Iterable<EventText> {
  made = 0;

  *[Symbol.iterator](): Iterator<EventText> {
    for (let id = 1; id < 2_000; id += 1) {
      this.made += 1;
      yield textOf({ id, event: eventOf('delta', 'x'.repeat(1_024)) });
    }
    yield textOf({ id: 2_000, event: eventOf('done', 'end') });
  }
}

test('the replay of a stored turn waits for its client every 64 KB', async (t) => {
  const { client, owner, running, pump, time } = startPump();
  owner.log = new StoredTurn();
  await owner.say(['metadata'], { deadlineInMs: 20_000 });
  await eventually(() => client.isWaitedFor);
  client.read();
  await owner.say([], { elsewhere: true });
  let pieces = 0;
  while (!pump.isDone) {
    await eventually(() => client.isWaitedFor || pump.isDone, { what: 'the next piece' });
    // Nobody waits for the turn, only for its client.
    time.advance(60_000);
    pieces += 1;
    client.read();
  }
  client.isFast = true;
  client.read();
  await running;
  t.true(pieces > 25, `${pieces} pieces`);
  for (const written of client.writes) t.true(written.length < 70_000, `${written.length} characters`);
  t.is(client.types.length, 2_001);
  t.is(client.types.at(-1), 'done');
  const order = [...client.text.matchAll(/^id: (.*)$/gm)].slice(1).map(([, id]) => Number(id));
  t.deepEqual(
    order,
    Array.from({ length: 2_000 }, (_, at) => at + 1),
  );
});

test('the replay to a client that leaves meanwhile ends', async (t) => {
  const { client, owner, running, pump, time } = startPump();
  const log = new StoredTurn();
  owner.log = log;
  await owner.say([], { elsewhere: true });
  await eventually(() => client.isWaitedFor);
  client.leave();
  await running;
  await new Promise((resolve) => setImmediate(resolve));
  t.false(pump.isDone);
  t.true(log.made < 100, `${log.made} events`);
  t.is(time.pending, 0);
});

test('an event that comes in any step of the end of a write is sent', async (t) => {
  for (let steps = 0; steps < 20; steps += 1) {
    const { client, owner, running } = startPump();
    await owner.say(['metadata']);
    await eventually(() => client.isWaitedFor && owner.isRead);
    const said = owner.say(['delta']);
    for (let step = 0; step < steps; step += 1) await Promise.resolve();
    client.isFast = true;
    client.read();
    await said;
    await eventually(() => client.types.length === 2, { what: `the event after ${steps} steps is sent` });
    t.deepEqual(client.types, ['metadata', 'delta']);
    client.leave();
    await running;
  }
});

test('a stream that ends without the end of its turn names the last event that the client gets', async (t) => {
  const { client, owner, running } = startPump();
  await owner.say(['metadata']);
  await eventually(() => client.isWaitedFor);
  await owner.say(['tool', 'tool']);
  await owner.end();
  await eventually(() => owner.asked === 3);
  client.isFast = true;
  client.read();
  await running;
  t.deepEqual(client.types, ['metadata', 'tool', 'tool', 'error']);
  t.regex(client.text, /id: 3\nevent: error\n/);
});
