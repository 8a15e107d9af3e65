import test from 'ava';
import { LiveTurn } from '../../../../src/conversations/sessions/live-turn.js';
import type { ExecutionRow, SessionRow, StoredInput } from '../../../../src/conversations/sessions/rows.js';
import { refusalOf } from '../../../../src/conversations/sessions/turn-checks.js';
import { limitsOf } from '../../../../src/kernel/plans/index.js';
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
