// What remains of a count of rows when the server refuses, hangs or talks nonsense.
import test from 'ava';
import { countRows } from '../../../../src/automation/databases/catalogue/count-rows.js';
import { AllowedTables } from '../../../../src/automation/databases/catalogue/table-name.js';
import type {
  DatabaseConnection,
  TextRows,
} from '../../../../src/automation/databases/connection/database-connection.js';
import { DatabaseError } from '../../../../src/automation/databases/connection/database-error.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

type Rows = TextRows['rows'];
interface World {
  readonly time: ManualTime;
  readonly tables: number;
  /** Answers the count of these tables. */
  readonly answer: (names: readonly string[], signal: AbortSignal) => Rows | Promise<Rows>;
  readonly signal?: AbortSignal;
}

/** Every table has as many rows as the digits of its name say, and the statements that counted them. */
async function counted({ time, tables, answer, signal = new AbortController().signal }: World) {
  const asked: (readonly string[])[] = [];
  const run = async (inTime: AbortSignal, text: string, values: readonly unknown[]): Promise<TextRows> => {
    if (text.startsWith('set local')) return { columns: [], rows: [] };
    if (values.length > 0) {
      return { columns: [], rows: Array.from({ length: tables }, (_, n) => ['public', `t${n}`]) };
    }
    const names = [...text.matchAll(/only "public"\."(t\d+)"/g)].map(([, name = '']) => name);
    asked.push(names);
    return { columns: [], rows: await answer(names, inTime) };
  };
  const connection: unknown = { run, reading: (_: unknown, work: () => unknown) => work() };
  const counts = await countRows(connection as DatabaseConnection, signal, time, new AllowedTables(null));
  return { counts: new Map([...counts].map(([name, rows]) => [name.slice(10, -1), rows])), asked };
}

const newTime = () => new ManualTime('2026-05-01T10:00:00Z');
const rowsOf = (names: readonly string[]): Rows => names.map((name, place) => [`${place}`, name.slice(1)]);
const refused = new DatabaseError('refused', 'canceling statement due to lock timeout (55P03)');

test('tables are counted some at a time, so that few locks are held at once', async (t) => {
  const { counts, asked } = await counted({ time: newTime(), tables: 120, answer: rowsOf });
  t.deepEqual(
    asked.map(({ length }) => length),
    [50, 50, 20],
  );
  t.is(counts.size, 120);
  t.is(counts.get('t119'), 119);
});

test('a table that the server refuses to count leaves the others counted', async (t) => {
  const answer = (names: readonly string[]): Rows => {
    if (names.includes('t7')) throw refused;
    return rowsOf(names);
  };
  const { counts, asked } = await counted({ time: newTime(), tables: 50, answer });
  t.is(counts.size, 49);
  t.false(counts.has('t7'));
  t.true(asked.length < 15, `${asked.length} statements`);
});

test('no statement begins once the counting has taken long', async (t) => {
  const time = newTime();
  const answer = (names: readonly string[]): Rows => {
    time.advance(900);
    return rowsOf(names);
  };
  t.is((await counted({ time, tables: 1_000, answer })).asked.length, 3);
  const refusing = (): Rows => {
    time.advance(900);
    throw refused;
  };
  t.is((await counted({ time, tables: 1_000, answer: refusing })).asked.length, 3);
});

test('a statement that never ends is given up, and what was counted before is the answer', async (t) => {
  const time = newTime();
  const answer = (names: readonly string[], signal: AbortSignal): Rows | Promise<Rows> =>
    names.includes('t0')
      ? rowsOf(names)
      : new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
          setImmediate(() => time.advance(4_000));
        });
  const { counts } = await counted({ time, tables: 100, answer });
  t.is(counts.size, 50);
  t.is(time.pending, 0);
});

test('a caller that has left, and a server that talks nonsense, end the discovery', async (t) => {
  const asker = new AbortController();
  const answer = (): Rows => {
    asker.abort(new DatabaseError('cancelled', 'nobody waits for it any more'));
    throw asker.signal.reason;
  };
  const left = counted({ time: newTime(), tables: 1, answer, signal: asker.signal });
  await t.throwsAsync(left, { message: /nobody waits/ });
  const odd = counted({ time: newTime(), tables: 1, answer: () => [['0', 'x\0']] });
  await t.throwsAsync(odd, { message: /not one of PostgreSQL/ });
});

for (const row of [
  ['0', '-1'],
  ['0', '10002'],
  ['0', 'many'],
  ['0', null],
  ['9', '3'],
  ['0', '1.5'],
]) {
  test(`a count of ${JSON.stringify(row)} is none`, async (t) => {
    t.is((await counted({ time: newTime(), tables: 1, answer: () => [row] })).counts.size, 0);
  });
}
