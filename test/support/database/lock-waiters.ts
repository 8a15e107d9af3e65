import type pg from 'pg';

/**
 * The backends that wait for what this connection holds. Not by what they run or wait for: other tests of the same
 * database run the same statements, which wait as well now and then, if only for room in a table; and copies of one
 * database give their tables the same numbers. Read from the locks: the list of backends stays as it was first seen for the
 * rest of a transaction.
 */
export async function waitersFor(holder: pg.ClientBase): Promise<readonly number[]> {
  const { rows } = await holder.query<{ pid: number }>(
    'select pid from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))',
  );
  return rows.map(({ pid }) => pid);
}
