// What a turn begins with is read from a store that may refuse for a moment.
import test from 'ava';
import { LiveTurn } from '../../../../src/conversations/sessions/live-turn.js';
import type { SessionActorParts, Tenant } from '../../../../src/conversations/sessions/parts.js';
import type {
  ExecutionRow,
  MessageRow,
  SessionRow,
  StoredInput,
} from '../../../../src/conversations/sessions/rows.js';
import { SessionState } from '../../../../src/conversations/sessions/session-state.js';
import { type ClaimedTurn, turnStart } from '../../../../src/conversations/sessions/turn-start.js';
import { StoreError } from '../../../../src/infra/storage/index.js';
import { limitsOf } from '../../../../src/kernel/plans/index.js';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

const id = '00000000-0000-4000-8000-000000000001';
const tenant: Tenant = { scope: tenantScope(id), limits: limitsOf('free', {}), suspended: false };
const overloaded = new StoreError('overloaded', 'everybody waits');

/** A claimed turn whose facts are read with these answers. */
function begin(answers: (readonly string[] | Error)[], claimed: Promise<void> = Promise.resolve()) {
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const input: Partial<StoredInput> = { message: 'hello', author: { kind: 'consumer', id: 'ada' } };
  const row: Partial<ExecutionRow> = {
    id,
    tenant_id: id,
    session_id: id,
    input: input as StoredInput,
    sealed_input: null,
    outcome: null,
  };
  const turn = new LiveTurn(row as ExecutionRow, 1);
  turn.deadlineAtMs = time.monotonicMs() + 60_000;
  const session: Partial<SessionRow> = { consumer_key: 'ada', has_several: false, last_message: 0 };
  const state: object = { session, tail: [] };
  const parts: Partial<SessionActorParts> = {
    time,
    newId: () => id,
    report: () => undefined,
    async factsOf() {
      const answer = answers.shift() ?? [];
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
  const agent: object = { snapshot: { metadata: { memory: { enabled: true } } } };
  const started = turnStart(state as SessionState, parts as SessionActorParts, {
    turn,
    tenant,
    agent: agent as ClaimedTurn['agent'],
    claimed,
  });
  started.catch(() => undefined);
  const again = async (): Promise<void> => {
    await eventually(() => time.pending > 0);
    time.advance(500);
  };
  return { started, time, turn, again };
}

test('a store that refuses for seconds is asked again under the same claim', async (t) => {
  const { started, again } = begin([overloaded, overloaded, ['likes tea']]);
  await again();
  await again();
  t.deepEqual((await started).facts, ['likes tea']);
});

test('it is asked no longer than the turn may take, and not for one that was cancelled', async (t) => {
  const late = begin([overloaded, overloaded]);
  late.time.stall(60_000);
  await t.throwsAsync(late.started, { is: overloaded });
  const cancelled = begin([overloaded, overloaded]);
  await eventually(() => cancelled.time.pending > 0);
  cancelled.turn.abort.abort('cancelled');
  await t.throwsAsync(cancelled.started);
});

test('what is no refusal of the moment, and a lost claim, end the reading', async (t) => {
  const broken = new Error('no such column');
  await t.throwsAsync(begin([broken]).started, { is: broken });
  const lost = new Error('another process owns the turn');
  await t.throwsAsync(begin([overloaded], Promise.reject(lost)).started, { is: lost });
});

/** The texts of the history with which the agent starts, and which older messages the store was asked for. */
async function remembered(own: number, held: readonly MessageRow[], last = own) {
  const { turn, time } = begin([]);
  turn.row = { ...turn.row, input: { ...turn.row.input, message_number: own } };
  const session: Partial<SessionRow> = { has_several: false, last_message: last, last_arrival: 1 };
  const loaded = { session: session as SessionRow, messages: held, unfinished: [], steps: [], approvals: [] };
  const state = new SessionState(loaded, 1, time, () => undefined);
  const asked: { readonly before: number; readonly limit: number }[] = [];
  const parts: Partial<SessionActorParts> = {
    time,
    newId: () => id,
    olderMessages: async (_scope, _session, before, limit) => {
      asked.push({ before, limit });
      return [messageOf(before - 1, `message ${before - 1}`)];
    },
  };
  const agent: object = { snapshot: { metadata: {} } };
  const { history } = await turnStart(state, parts as SessionActorParts, {
    turn,
    tenant,
    agent: agent as ClaimedTurn['agent'],
    claimed: Promise.resolve(),
  });
  return { asked, texts: history.map(({ content }) => JSON.stringify(content)).join() };
}

function messageOf(number: number, content: string): MessageRow {
  const message: Partial<MessageRow> = { number, role: 'user', content, attachments: [], metadata: {} };
  return { ...message, declared_context: null, author: null } as MessageRow;
}

test('a message that alone fills the memory of its session does not hide those before it', async (t) => {
  const earlier = [1, 2, 3, 4].map((number) => messageOf(number, `message ${number}`));
  const short = await remembered(5, [...earlier, messageOf(5, 'short')]);
  t.deepEqual(short.asked, []);
  t.regex(short.texts, /message 1.*message 4/);
  const long = await remembered(5, [...earlier, messageOf(5, 'x'.repeat(600_000))]);
  t.deepEqual(long.asked, [{ before: 5, limit: 20 }]);
  t.regex(long.texts, /message 4/);
});

test('the first message of a session asks for none before it, and one after an erasure does', async (t) => {
  t.deepEqual((await remembered(1, [messageOf(1, 'hello')])).asked, []);
  t.deepEqual((await remembered(7, [])).asked, [{ before: 7, limit: 20 }]);
});
