import test from 'ava';
import { PlatformError } from '../../../src/kernel/errors.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { TurnEnds } from '../../../src/mcp/turn-ends.js';
import { eventually } from '../../support/clocks/eventually.js';
import { ManualTime } from '../../support/clocks/manual-time.js';

const scope = tenantScope('10000000-0000-4000-8000-000000000001');

const unknownTurns = { sessionId: 's', turns: undefined };

/** A session whose owner the test plays. */
function played() {
  const time = new ManualTime('2026-11-23T12:00:00Z');
  const seen = { looks: 0, watches: 0, cancelled: 0 };
  const state = { turns: 0, exists: true };
  let say: (executionId: string | undefined) => void = () => undefined;
  const sessions = {
    session: async () => {
      seen.looks += 1;
      if (!state.exists) throw new PlatformError('not_found');
      return { total_turns: state.turns };
    },
    watch: () => {
      seen.watches += 1;
      const said: (string | undefined)[] = [];
      let wake = (): void => undefined;
      say = (executionId) => {
        said.push(executionId);
        wake();
      };
      async function* events() {
        for (;;) {
          while (said.length === 0) await new Promise<void>((resolve) => (wake = resolve));
          const executionId = said.shift();
          if (executionId === undefined) throw new Error('the owner is gone');
          yield { executionId, events: [{ id: 1, event: { type: 'done' } }] };
        }
      }
      return Object.assign(events(), { cancel: () => void (seen.cancelled += 1) });
    },
  };
  const ends = new TurnEnds({ time, sessions });
  return { time, seen, state, ends, say: (executionId: string | undefined) => say(executionId) };
}

test('clients of one session share a watch, and the last one ends it', async (t) => {
  const { ends, seen, state, say, time } = played();
  const heard: string[] = [];
  const first = ends.follow(scope, unknownTurns, (id) => void heard.push(`first ${id}`));
  const second = ends.follow(scope, unknownTurns, (id) => void heard.push(`second ${id}`));
  await eventually(() => seen.watches === 1);
  state.turns = 1;
  say('e1');
  await eventually(() => heard.length === 2);
  t.deepEqual(heard, ['first e1', 'second e1']);
  first();
  t.is(seen.cancelled, 0);
  second();
  t.is(seen.cancelled, 1);
  t.is(time.pending, 0);
});

test('a turn that ended while the owner was gone is found by the count of turns', async (t) => {
  const { ends, seen, state, say, time } = played();
  const heard: (string | undefined)[] = [];
  ends.follow(scope, unknownTurns, (id) => void heard.push(id));
  await eventually(() => seen.watches === 1);
  say(undefined);
  state.turns = 1;
  await eventually(() => time.pending === 3);
  time.advance(1_000);
  await eventually(() => seen.watches === 2);
  t.deepEqual(heard, [undefined]);
  const { looks } = seen;
  time.advance(10_000);
  await eventually(() => seen.looks > looks);
  t.deepEqual(heard, [undefined], 'what was told is not told again');
});

test('a turn that ended before the watch began is told, also to a client that joins later', async (t) => {
  const { ends, seen, state, time } = played();
  state.turns = 1;
  const heard: string[] = [];
  ends.follow(scope, { sessionId: 's', turns: 0 }, (id) => void heard.push(`first ${id}`));
  await eventually(() => seen.watches === 1);
  t.deepEqual(heard, ['first undefined']);
  ends.follow(scope, { sessionId: 's', turns: 0 }, (id) => void heard.push(`late ${id}`));
  ends.follow(scope, { sessionId: 's', turns: 1 }, (id) => void heard.push(`knows ${id}`));
  time.advance(0);
  t.deepEqual(heard, ['first undefined', 'late undefined']);
});

test('the erasure of a session is reported once and ends its watch', async (t) => {
  const { ends, seen, state, say, time } = played();
  const heard: (string | undefined)[] = [];
  ends.follow(scope, unknownTurns, (id) => void heard.push(id));
  await eventually(() => seen.watches === 1);
  say(undefined);
  state.exists = false;
  await eventually(() => time.pending === 3);
  time.advance(1_000);
  await eventually(() => heard.length > 0);
  t.deepEqual(heard, [undefined]);
  t.is(seen.watches, 1);
});

test('a session that does not exist is not watched', async (t) => {
  const { ends, seen, state, time } = played();
  state.exists = false;
  ends.follow(scope, unknownTurns, () => t.fail('nothing ends'));
  await eventually(() => seen.looks === 1);
  t.is(seen.watches, 0);
  t.is(time.pending, 0);
});

test('a tenant has a bounded number of watches on a node', (t) => {
  const { ends } = played();
  for (let number = 0; number < 1_000; number += 1) {
    const row = { sessionId: `s${number}`, turns: undefined };
    ends.follow(scope, row, () => undefined);
  }
  t.throws(() => ends.admit(scope, 1), { instanceOf: PlatformError, message: /already follow 1000/ });
  t.notThrows(() => ends.admit(tenantScope('10000000-0000-4000-8000-000000000002'), 100));
});
