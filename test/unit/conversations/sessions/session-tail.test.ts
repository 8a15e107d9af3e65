// The end of a conversation that a session keeps in memory.
import test from 'ava';
import { systemTime } from '../../../../cluster/index.js';
import type { MessageRow } from '../../../../src/conversations/sessions/rows.js';
import { SessionState } from '../../../../src/conversations/sessions/session-state.js';

const messagesMax = 100;
const charactersMax = 500_000;

function message(number: number, characters = 5): MessageRow {
  return {
    tenant_id: 'tenant',
    session_id: 'session',
    number,
    id: `message ${number}`,
    role: 'user',
    author: null,
    content: 'x'.repeat(characters),
    attachments: [],
    declared_context: null,
    metadata: {},
    execution_id: null,
    created_at: '2026-01-01T00:00:00.000Z',
  };
}

/** A state with these messages from the store, and the bytes that it last said it holds. */
function stateOf(messages: readonly MessageRow[]): { state: SessionState; held: () => number } {
  let bytes = 0;
  const loaded = { session: undefined, messages, unfinished: [], steps: [], approvals: [] };
  const state = new SessionState(loaded, 1, systemTime, (now) => {
    bytes = now;
  });
  return { state, held: () => bytes };
}

function numbersOf({ tail }: SessionState): readonly number[] {
  return tail.map(({ number }) => number);
}

test('messages that come one by one leave the same tail, of the same size, as those that are loaded', (t) => {
  const lengths = [5, 90_000, 7, 250_000, 0, 200_000, 300_000, 1, 1, 499_999, 2, 600_000, 3];
  const all = lengths.map((length, at) => message(at + 1, length));
  const coming = stateOf([]);
  for (const [at, one] of all.entries()) {
    coming.state.remember([one]);
    const loaded = stateOf(all.slice(0, at + 1));
    t.deepEqual(numbersOf(coming.state), numbersOf(loaded.state), `after message ${at + 1}`);
    t.is(coming.held(), loaded.held(), `after message ${at + 1}`);
  }
});

test('the tail has the newest messages up to its bound in number, whatever came with one write', (t) => {
  const { state } = stateOf([]);
  for (let number = 1; number <= messagesMax; number += 1) state.remember([message(number)]);
  t.is(state.tail.length, messagesMax);
  state.remember([message(101), message(102), message(103)]);
  t.deepEqual(
    numbersOf(state),
    Array.from({ length: messagesMax }, (_, at) => at + 4),
  );
});

test('a message above the bound in characters stays alone', (t) => {
  const { state } = stateOf([message(1), message(2)]);
  state.remember([message(3, charactersMax + 1)]);
  t.deepEqual(numbersOf(state), [3]);
});
