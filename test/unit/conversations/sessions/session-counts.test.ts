// A session's row is written with the end of a turn; until then the turn's own rows say how far it is.
import test from 'ava';
import { systemTime } from '../../../../cluster/index.js';
import { acceptTurn, newSession } from '../../../../src/conversations/sessions/turn-queue.js';
import type { SessionActivation } from '../../../../src/conversations/sessions/parts.js';
import type {
  ExecutionRow,
  MessageRow,
  SessionLoaded,
  StoredInput,
} from '../../../../src/conversations/sessions/rows.js';
import { SessionState } from '../../../../src/conversations/sessions/session-state.js';

const at = '2026-01-01T00:00:00.000Z';
const activation = { address: { group: 'tenant', kind: 'session', key: 'session' }, slot: 1 };
const author = { kind: 'key', id: 'a key' } as const;
const begun = { agentId: 'agent', channel: 'chat', startedBy: author };
const row = newSession(activation as SessionActivation, begun, at);

function message(number: number): MessageRow {
  return {
    tenant_id: 'tenant',
    session_id: 'session',
    number,
    id: `message ${number}`,
    role: 'user',
    author,
    content: 'Hello',
    attachments: [],
    declared_context: null,
    metadata: {},
    execution_id: null,
    created_at: at,
  };
}

function execution(arrival: number): ExecutionRow {
  const input: StoredInput = {
    message: 'Hello',
    declared_context: null,
    accepted_fields: [],
    ignored_fields: [],
    quick_replies: false,
    role: 'owner',
    needs_bindings: false,
    deadline_ms: 1_000,
  };
  const turn: Partial<ExecutionRow> = { id: `turn ${arrival}`, arrival, outcome: null, input };
  return turn as ExecutionRow;
}

function countsOf(loaded: Omit<SessionLoaded, 'steps' | 'approvals'>): readonly (number | undefined)[] {
  const { session } = new SessionState(
    { ...loaded, steps: [], approvals: [] },
    1,
    systemTime,
    () => undefined,
  );
  return [session?.last_message, session?.last_arrival];
}

test('a session whose owner was lost during turns continues after their messages and arrivals', (t) => {
  const session = { ...row, last_message: 2, last_arrival: 1 };
  const messages = [message(1), message(2), message(3)];
  t.deepEqual(countsOf({ session, messages, unfinished: [execution(2), execution(3)] }), [3, 3]);
});

test('a session with ended turns continues from its row', (t) => {
  const session = { ...row, last_message: 7, last_arrival: 4 };
  t.deepEqual(countsOf({ session, messages: [message(6), message(7)], unfinished: [] }), [7, 4]);
  t.deepEqual(countsOf({ session, messages: [], unfinished: [] }), [7, 4]);
});

test('a session says how many bytes it holds of its messages, with their context and metadata', (t) => {
  const held: number[] = [];
  const messages = [message(1), { ...message(2), declared_context: { page: 'a' }, metadata: { b: 1 } }];
  const loaded = { session: row, messages, unfinished: [], steps: [], approvals: [] };
  const state = new SessionState(loaded, 1, systemTime, (bytes) => held.push(bytes));
  /** Beside its text. */
  const perMessage = 250;
  // {"page":"a"} and {"b":1}
  t.deepEqual(held, [2 * perMessage + 2 * (5 + 5 + 12 + 7)]);
  state.remember([message(3)]);
  t.is(held.at(-1), 3 * perMessage + 2 * (5 + 5 + 12 + 7 + 5));
  state.remember([{ ...message(4), content: 'x'.repeat(499_990) }]);
  t.is(held.at(-1), 2 * perMessage + 2 * (499_990 + 5), 'the newest within the limit are kept');
  state.replaceTail([message(3)]);
  t.is(held.at(-1), perMessage + 2 * 5);
  state.forgetAll();
  t.is(held.at(-1), 0);
});

test('a session says how many bytes it holds of turns that wait, and refuses more than it may hold', async (t) => {
  const held: number[] = [];
  const loaded = { session: row, messages: [], unfinished: [], steps: [], approvals: [] };
  const state = new SessionState(loaded, 1, systemTime, (bytes) => held.push(bytes));
  const written: string[] = [];
  const writing = {
    ...activation,
    epoch: 1,
    writeKnown: async ({ executions = [] }: { readonly executions?: readonly ExecutionRow[] }) => {
      written.push(...executions.map(({ id }) => id));
      return { finishedBefore: new Set<string>() };
    },
  };
  const enter = (id: string, characters: number) => {
    const { input } = execution(1);
    const wanted = {
      agentId: 'agent',
      executionId: id,
      channel: 'chat',
      input: { ...input, author, message: 'x'.repeat(characters) },
      context: {},
      bindings: {},
      metadata: {},
    };
    return acceptTurn(state, writing as never, { time: systemTime } as never, wanted as never, undefined);
  };
  await enter('t1', 5_000_000);
  t.true((held.at(-1) ?? 0) > 10_000_000);
  const refused = await t.throwsAsync(() => enter('t2', 1));
  t.like(refused, { code: 'rate_limit_exceeded' });
  const [first] = state.queue;
  if (first === undefined) return t.fail('the first turn waits');
  first.row = { ...first.row, status: 'completed', outcome: 'COMPLETED' };
  await enter('t2', 1);
  t.true(
    (held.at(-1) ?? 0) > 10_000_000,
    'a finished turn whose monitors may read it is held, and waits no more',
  );
  for (const turn of state.turns()) state.drop(turn);
  t.is(held.at(-1), 0);
  for (const id of ['t3', 't4', 't5']) await enter(id, 1_000_000);
  t.like(await t.throwsAsync(() => enter('t6', 1_500_000)), { code: 'rate_limit_exceeded' });
  await enter('t7', 900_000);
  t.deepEqual(written, ['t1', 't2', 't3', 't4', 't5', 't7']);
});
