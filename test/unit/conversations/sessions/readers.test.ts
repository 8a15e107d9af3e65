import test from 'ava';
import { clusterConfig } from '../../../../cluster/config.js';
import { ActorError } from '../../../../cluster/errors.js';
import { VirtualTime } from '../../../../cluster/simulation/virtual-time.js';
import { follow } from '../../../../src/conversations/sessions/event-reader.js';
import { LiveTurn } from '../../../../src/conversations/sessions/live-turn.js';
import { joinedMax, watchersMax } from '../../../../src/conversations/sessions/reader-limits.js';
import { Readers } from '../../../../src/conversations/sessions/readers.js';
import { asPlatformError } from '../../../../src/conversations/sessions/refusals.js';
import type { ExecutionRow } from '../../../../src/conversations/sessions/rows.js';
import type { SessionState } from '../../../../src/conversations/sessions/session-state.js';
import { waitingMax } from '../../../../src/conversations/sessions/turn-queue.js';
import { watch, watchOn } from '../../../../src/conversations/sessions/session-watch.js';

const turnOf = (): LiveTurn => new LiveTurn({ id: 'e', status: 'running' } as ExecutionRow, 1);

test('one confirmation answers two changes that overlap', async (t) => {
  const time = new VirtualTime();
  const readers = new Readers(time);
  const reader = readers.enter('f', turnOf(), false);
  const dropped = Promise.all([readers.dropEverywhere(), readers.dropEverywhere()]);
  readers.passed('f', reader.barrier);
  await dropped;
  t.false(reader.cut);
});

test('a reader far behind a retracted text gets all that is left, and the end', async (t) => {
  const time = new VirtualTime();
  const turn = turnOf();
  for (let at = 0; at < 1_500; at += 1) turn.log.append({ type: 'delta', content: 'x' });
  turn.mute();
  turn.log.append({ type: 'phase', name: 'finish' });
  turn.log.close();
  const options = {
    turn,
    after: 0,
    follower: 'f',
    joined: false,
    readers: new Readers(time),
    time,
    leaving: () => false,
  };
  const call = { signal: new AbortController().signal, ended: false };
  const types: string[] = [];
  const reading = (async () => {
    for await (const { events } of follow(options, call as Parameters<typeof follow>[1]))
      types.push(...events.map(({ id }) => String(id)));
  })();
  await time.advance(5_000);
  await reading;
  t.deepEqual(
    types,
    turn.visibleEvents().map(({ id }) => String(id)),
  );
  t.is(types.length, 1);
});

test('a message without events tells the last event that its reader has', async (t) => {
  const time = new VirtualTime();
  const readers = new Readers(time);
  const turn = turnOf();
  for (const content of ['a', 'b']) turn.log.append({ type: 'delta', content });
  const options = { turn, after: 0, follower: 'f', joined: false, readers, time, leaving: () => false };
  const call = { signal: new AbortController().signal, ended: false };
  const messages = follow(options, call as Parameters<typeof follow>[1]);
  const first = (await messages.next()).value;
  void readers.dropEverywhere();
  const second = (await messages.next()).value;
  t.is(first?.events.length, 2);
  t.like(second, { events: [], barrier: 1 });
  t.is(second?.after, turn.log.events.at(-1)?.id);
  await messages.return(undefined);
});

test('a monitor that was cut off goes on after the last event that it has', async (t) => {
  const turn = new LiveTurn({ id: 'e', status: 'running', outcome: null } as ExecutionRow, 1);
  for (const content of ['a', 'b', 'c']) turn.log.append({ type: 'delta', content });
  const turns = [turn];
  let next: object | undefined;
  const state: object = {
    allTurns: () => turns,
    turns: () => turns,
    turn: (id: string) => turns.find(({ row }) => row.id === id),
    onChange: () => () => undefined,
  };
  const call: object = { signal: new AbortController().signal, ended: false };
  const idsFrom = async (executionId: string, after: number): Promise<readonly number[]> => {
    const events = watch(
      state as SessionState,
      { executionId, after, others: undefined },
      call as Parameters<typeof follow>[1],
      () => false,
    );
    const first = await events.next();
    if (first.done !== true) next = watchOn({ executionId: '', after: 0, others: undefined }, first.value);
    void events.return(undefined);
    return first.done === true ? [] : first.value.events.map(({ id }) => id);
  };
  const ids = turn.log.events.map(({ id }) => id);
  t.deepEqual(await idsFrom('', 0), ids);
  t.deepEqual(next, { executionId: 'e', after: ids[2], others: { turns: [] } });
  t.deepEqual(await idsFrom('e', ids[1] ?? 0), ids.slice(2));
  t.deepEqual(await idsFrom('another', ids[1] ?? 0), ids);
});

test('readers that join the turns of a session are bounded, and those that begin one are not counted with them', (t) => {
  const readers = new Readers(new VirtualTime());
  const turn = turnOf();
  for (let at = 0; at < 40; at += 1) readers.enter(`begins ${at}`, turn, false);
  const joined = Array.from({ length: joinedMax }, (_, at) => {
    readers.admit(`joins ${at}`);
    return readers.enter(`joins ${at}`, turn, true);
  });
  const refused = t.throws(() => readers.admit('one more'), { instanceOf: ActorError });
  t.is(refused?.code, 'rate_limit_exceeded');
  t.like(asPlatformError(refused), { status: 429, retryAfterSeconds: 5, details: { limit: joinedMax } });
  t.notThrows(() => readers.admit('joins 3'), 'it comes back after a lost link');
  const [first] = joined;
  if (first !== undefined) readers.leave('joins 0', first);
  t.notThrows(() => readers.admit('one more'));
});

test('the readers of one session fit into the streams of one actor', (t) => {
  const beginning = waitingMax + 1;
  t.true(joinedMax + watchersMax + beginning <= clusterConfig().streamCountMax);
});
