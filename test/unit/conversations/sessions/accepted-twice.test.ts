// Two requests for one turn that had ended before the session's present activation began.
import test from 'ava';
import { systemTime } from '../../../../cluster/index.js';
import { acceptTurn, newSession } from '../../../../src/conversations/sessions/turn-queue.js';
import { SessionState } from '../../../../src/conversations/sessions/session-state.js';

test('both requests are sent to the store, and the turn stays in no queue', async (t) => {
  const answers: ((written: { finishedBefore: ReadonlySet<string> }) => void)[] = [];
  const writes: unknown[] = [];
  const activation = {
    address: { group: 'tenant', kind: 'session', key: 'session' },
    slot: 1,
    epoch: 2,
    writeKnown: (write: unknown) => {
      writes.push(write);
      return new Promise((resolve) => answers.push(resolve));
    },
  };
  const author = { kind: 'key', id: 'a key' } as const;
  const begun = { agentId: 'agent', channel: 'chat', startedBy: author };
  const session = newSession(activation as never, begun, '2026-01-01T00:00:00.000Z');
  const loaded = { session, messages: [], unfinished: [], steps: [], approvals: [] };
  const state = new SessionState(loaded, activation.epoch, systemTime, () => undefined);
  const wanted = {
    agentId: 'agent',
    executionId: 'turn',
    channel: 'chat',
    input: { message: 'Hello', author, declared_context: null },
    context: {},
    bindings: {},
    metadata: {},
  };
  const enter = () =>
    acceptTurn(state, activation as never, { time: systemTime } as never, wanted as never, undefined);
  const both = [enter(), enter()];
  t.is(writes.length, 1);
  answers[0]?.({ finishedBefore: new Set(['turn']) });
  t.deepEqual(await Promise.all(both), ['elsewhere', 'elsewhere']);
  t.deepEqual(state.queue, []);
});
