// The streams of turns that wait for a person.
import test from 'ava';
import { startPump } from '../../../support/clients/pumped-turn.js';
import { eventually } from '../../../support/clocks/eventually.js';

test('the stream of a turn that waits for a person stays open for five minutes, with comments', async (t) => {
  const { client, owner, time, running, pump } = startPump();
  client.isFast = true;
  await owner.say(['metadata', 'status'], { deadlineInMs: 60_000 });
  await owner.say(['approval']);
  await eventually(() => client.types.includes('approval'));
  time.advance(299_000);
  t.deepEqual(client.types, ['metadata', 'status', 'approval'], 'the deadline of the turn does not count');
  t.regex(client.text, /: keep-alive/);
  time.advance(2_000);
  await running;
  t.false(pump.isDone);
  t.deepEqual(client.types, ['metadata', 'status', 'approval'], 'it closes without an event');
});

test('the stream of a turn that goes on after the decision stays open, under its new deadline', async (t) => {
  const { client, owner, time, running, pump } = startPump();
  client.isFast = true;
  await owner.say(['metadata', 'approval'], { deadlineInMs: 60_000 });
  await eventually(() => client.types.includes('approval'));
  time.advance(200_000);
  await owner.say(['status', 'delta'], { deadlineInMs: 600_000 });
  await eventually(() => client.types.includes('delta'));
  time.advance(300_000);
  await owner.say(['done']);
  await owner.end();
  await running;
  t.true(pump.isDone);
});

test('the stream of a turn that waits for a person ends when its node stops, under its last event', async (t) => {
  const { client, owner, running, pump, stop } = startPump();
  client.isFast = true;
  await owner.say(['metadata', 'status', 'approval'], { deadlineInMs: 60_000 });
  await eventually(() => client.types.includes('approval'));
  stop();
  await running;
  t.regex(client.text, /id: 3\nevent: error\ndata: .*"service_unavailable".*stopping.*\n\n$/);
  t.false(pump.isDone);
});

test('while its node stops, a turn that runs is told to its end, and one that begins to wait is not', async (t) => {
  const running = startPump();
  running.client.isFast = true;
  await running.owner.say(['metadata', 'approval', 'status', 'delta'], { deadlineInMs: 60_000 });
  await eventually(() => running.client.types.includes('delta'));
  running.stop();
  await running.owner.say(['delta', 'approval', 'status']);
  await running.owner.say(['done']);
  await running.owner.end();
  await running.running;
  t.is(running.client.types.at(-1), 'done');
  t.false(running.client.types.includes('error'));
  const waiting = startPump();
  waiting.client.isFast = true;
  await waiting.owner.say(['metadata']);
  waiting.stop();
  await waiting.owner.say(['approval']);
  await waiting.running;
  t.deepEqual(waiting.client.types, ['metadata', 'approval', 'error']);
});
