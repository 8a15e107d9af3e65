import test from 'ava';
import { combinedWrite } from '../../../../src/conversations/sessions/combined-write.js';
import type { SessionWrite } from '../../../../src/conversations/sessions/rows.js';

// Only the identifying columns are compared, so these rows have nothing else but a word for their version.
const rows = (
  field: 'messages' | 'executions' | 'steps' | 'logs',
  ...given: readonly object[]
): SessionWrite => ({ [field]: given });

test('of two versions of a row the later is written once, and rows of one version stay', (t) => {
  const kinds = [
    ['messages', { number: 1 }, { number: 2 }],
    ['executions', { id: 'a' }, { id: 'b' }],
    ['logs', { execution_id: 'a' }, { execution_id: 'b' }],
    ['steps', { execution_id: 'a', number: 1 }, { execution_id: 'a', number: 2 }],
    ['steps', { execution_id: 'a', number: 1 }, { execution_id: 'b', number: 1 }],
  ] as const;
  for (const [field, one, other] of kinds) {
    const before = { ...one, version: 'before' };
    const after = { ...one, version: 'after' };
    const combined = combinedWrite(rows(field, other, before), rows(field, after));
    t.deepEqual(combined[field] as unknown, [other, after], field);
    t.deepEqual(
      combinedWrite(rows(field, before), {})[field] as unknown,
      [before],
      `${field} of the earlier`,
    );
    t.deepEqual(combinedWrite({}, rows(field, after))[field] as unknown, [after], `${field} of the later`);
  }
});

test('rows without versions are all kept, in order', (t) => {
  for (const field of ['touches', 'facts', 'realtimeEvents'] as const) {
    const write = (...given: readonly object[]): SessionWrite => ({ [field]: given });
    const [first, second, third] = [{ place: 1 }, { place: 2 }, { place: 3 }];
    t.deepEqual(combinedWrite(write(first, second), write(third))[field] as unknown, [first, second, third]);
    t.deepEqual(combinedWrite(write(first), {})[field] as unknown, [first]);
  }
});

test('the later session row counts, and an erasure is not lost', (t) => {
  const session = (version: string): SessionWrite => ({ session: { version } }) as object;
  const erase = { tenant_id: 't', id: 's' };
  t.deepEqual(combinedWrite(session('before'), session('after')).session as unknown, { version: 'after' });
  t.deepEqual(combinedWrite(session('before'), {}).session as unknown, { version: 'before' });
  t.deepEqual(combinedWrite({ erase }, session('after')).erase, erase);
  t.false('session' in combinedWrite({}, { erase }), 'nothing is written that nobody wrote');
});
