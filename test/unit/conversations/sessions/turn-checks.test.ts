import test from 'ava';
import { TurnParked } from '../../../../src/conversations/turns/index.js';
import { parkTurn } from '../../../../src/conversations/sessions/approvals.js';
import { noteHandover } from '../../../../src/conversations/sessions/handover.js';
import { LiveTurn } from '../../../../src/conversations/sessions/live-turn.js';
import type { ExecutionRow, SessionRow, StoredInput } from '../../../../src/conversations/sessions/rows.js';
import type { SessionActorParts } from '../../../../src/conversations/sessions/parts.js';
import type { SessionState } from '../../../../src/conversations/sessions/session-state.js';
import { refusalOf } from '../../../../src/conversations/sessions/turn-checks.js';
import { limitsOf } from '../../../../src/kernel/plans/index.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';

const tenant = {
  scope: tenantScope('00000000-0000-4000-8000-000000000001'),
  limits: limitsOf('free', {}),
  suspended: false,
};

/** The error with which a turn ends that processes have begun so often, and handed over so often. */
async function errorOf(attempts: number, handovers: number): Promise<string | undefined> {
  const input: Partial<StoredInput> = { author: { kind: 'key', id: 'a key' }, handovers };
  const row: Partial<ExecutionRow> = {
    id: 'a turn',
    cancelled_by: null,
    attempts,
    input: input as StoredInput,
  };
  const session: Partial<SessionRow> = { control_mode: 'engaged', consumer_key: null, has_several: false };
  const refusal = await refusalOf(new LiveTurn(row as ExecutionRow, 1), tenant, session as SessionRow, {
    isDenied: () => false,
  });
  return refusal?.error?.code;
}

test('a turn during which three processes died fails instead of ending a fourth', async (t) => {
  t.is(await errorOf(2, 0), undefined);
  t.is(await errorOf(3, 0), 'worker_lost');
  t.is(await errorOf(4, 2), undefined, 'a process that leaves in order hands the turn over');
  t.is(await errorOf(5, 2), 'worker_lost');
});

test('after a wait both the starts and the handovers before it are forgotten', (t) => {
  const input: Partial<StoredInput> = { handovers: 2 };
  const row: Partial<ExecutionRow> = { id: 'a turn', attempts: 3, input: input as StoredInput };
  const parts: Partial<SessionActorParts> = {
    time: new ManualTime('2026-01-01T00:00:00Z'),
    newId: () => 'an id',
    seal: (text) => text,
  };
  const turn = new LiveTurn(row as ExecutionRow, 1);
  parkTurn(turn, new TurnParked([], []), parts as SessionActorParts);
  t.is(turn.row.attempts, 0);
  t.is(turn.row.input.handovers, 0, 'three processes may end from here on, not five');
});

test('only a start of this activation is handed over', (t) => {
  const row: Partial<ExecutionRow> = { id: 'a turn', status: 'running', attempts: 1, outcome: null };
  const turn = new LiveTurn({ ...row, input: {} } as ExecutionRow, 1);
  const state: Pick<SessionState, 'allTurns'> = { allTurns: () => [turn].values() };
  const written: unknown[] = [];
  const activation = {
    mayAct: () => true,
    write: (write: unknown) => {
      written.push(write);
      return Promise.resolve({ outcome: 'result_lost' } as const);
    },
  };
  const leave = (): void => {
    const report = t.fail.bind(t);
    noteHandover(state as SessionState, activation, { report });
  };
  leave();
  t.is(turn.row.input.handovers, undefined, 'the start of another process stays counted');
  turn.isClaimed = true;
  leave();
  t.is(turn.row.input.handovers, 1);
  t.is(written.length, 1);
});
