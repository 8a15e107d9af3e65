import test from 'ava';
import { finishedEvents } from '../../../../src/conversations/sessions/finished-events.js';
import type { ReadExecution } from '../../../../src/conversations/sessions/reads.store.js';

const execution: ReadExecution = {
  id: '0b6e2a52-2f5c-4f4e-9e0e-3c1f1a1d0001',
  agent_id: '0b6e2a52-2f5c-4f4e-9e0e-3c1f1a1d0002',
  session_id: '0b6e2a52-2f5c-4f4e-9e0e-3c1f1a1d0003',
  trigger_id: null,
  key_id: null,
  user_id: null,
  status: 'completed',
  outcome: 'COMPLETED',
  metadata: {},
  model: 'sim.echo',
  provider: 'sim',
  usage: null,
  cost: 0,
  latency_ms: 5,
  first_token_ms: 1,
  tool_calls: 0,
  timeout_clock: null,
  error: null,
  delivery_status: 'none',
  output: 'the text',
  parsed: null,
  blocks: [],
  input: { accepted_fields: ['message'], ignored_fields: [{ field: 'x', reason: 'unknown_field' }] },
  created_at: new Date(),
  started_at: new Date(),
  finished_at: new Date(),
};

const typesAfter = (of: ReadExecution, after: number): string[] =>
  finishedEvents(of, after).map(({ type }) => type);

test('a turn whose events were removed still starts with metadata for a new reader', (t) => {
  t.deepEqual(typesAfter(execution, 0), ['metadata', 'response', 'metrics', 'done']);
  t.deepEqual(JSON.parse(finishedEvents(execution, 0)[0]?.data ?? ''), {
    type: 'metadata',
    accepted_fields: ['message'],
    ignored_fields: [{ field: 'x', reason: 'unknown_field' }],
    session_id: execution.session_id,
    execution_id: execution.id,
  });
  t.deepEqual(typesAfter(execution, 7), ['response', 'metrics', 'done']);
});

test('text withdrawn by a handoff is not sent after the events were removed either', (t) => {
  const suspended = { ...execution, status: 'blocked', outcome: 'SUSPENDED' } as const;
  t.deepEqual(typesAfter(suspended, 0), ['metadata', 'metrics', 'done']);
});

test('a turn that never ran sends nothing, not even an empty text', (t) => {
  const blocked = { ...execution, status: 'blocked', outcome: 'BLOCKED', output: null } as const;
  t.deepEqual(typesAfter(blocked, 0), ['metadata', 'metrics', 'done']);
});

const idsAfter = (of: ReadExecution, after: number): string[] =>
  finishedEvents(of, after).map(({ id, type }) => `${id} ${type}`);

test('a turn whose last event is known continues behind what the reader has', (t) => {
  const epoch = 3 * 2 ** 32;
  const numbered = { ...execution, input: { ...execution.input, last_event: epoch + 20 } };
  const end = [`${epoch + 18} response`, `${epoch + 19} metrics`, `${epoch + 20} done`];
  t.deepEqual(idsAfter(numbered, 0), [`${epoch + 1} metadata`, ...end]);
  t.deepEqual(idsAfter(numbered, epoch + 1), end);
  t.deepEqual(idsAfter(numbered, epoch + 17), end);
  t.deepEqual(idsAfter(numbered, epoch + 18), end.slice(1));
  t.deepEqual(idsAfter(numbered, epoch + 19), end.slice(2));
  t.deepEqual(idsAfter(numbered, epoch + 20), []);
  t.deepEqual(idsAfter(numbered, 2 * 2 ** 32 + 40), end, 'a reader of an earlier owner');
});
