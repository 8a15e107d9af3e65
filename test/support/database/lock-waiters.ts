import type pg from 'pg';

/**
 * The backends that wait for a lock of this connection. Statements and wait events do not identify them: other tests of
 * the same database run the same statements, which also wait now and then, if only to extend a table; and copies of one
 * database give their tables the same numbers. Reads the locks, because a transaction keeps seeing its first snapshot of
 * the list of backends.
 */
export async function waitersFor(holder: pg.ClientBase): Promise<readonly number[]> {
  const { rows } = await holder.query<{ pid: number }>(
    'select pid from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))',
  );
  return rows.map(({ pid }) => pid);
}
