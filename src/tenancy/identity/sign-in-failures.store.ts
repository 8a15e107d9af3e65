import { z } from 'zod';
import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';

const failures = z.object({ count: z.number(), oldest: z.date().nullable() });

/** Counts the newest failures since `since`, up to `limit`, with the time of the oldest of them. */
export function countFailures(
  tx: DirectoryTransaction,
  subject: Buffer,
  since: Date,
  limit: number,
): Promise<z.output<typeof failures>> {
  return tx.one(
    sql.type(failures)`
      select count(*) as count, min(failed_at) as oldest
      from (
        select failed_at from sign_in_failures
        where subject = ${sql.binary(subject)} and failed_at > ${sql.timestamp(since)}
        order by failed_at desc limit ${limit}
      ) as newest`,
  );
}

/** Locks the subject's count until the transaction ends. */
export async function lockSubject(tx: DirectoryTransaction, subject: Buffer): Promise<void> {
  await tx.query(sql.unsafe`select pg_advisory_xact_lock(${subject.readBigInt64BE().toString()}::bigint)`);
}

export async function insertFailure(tx: DirectoryTransaction, subject: Buffer, at: Date): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      insert into sign_in_failures (subject, failed_at) values (${sql.binary(subject)}, ${sql.timestamp(at)})`,
  );
}

/** Removes failures that count no longer, by the clock of PostgreSQL: a node whose clock is ahead would open the limit. */
export async function sweepFailures(
  tx: DirectoryTransaction,
  keptMs: number,
  rowsMax: number,
): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      delete from sign_in_failures where id in (
        select id from sign_in_failures
        where failed_at < now() - ${keptMs} * interval '1 millisecond' limit ${rowsMax})`,
  );
}

export async function deleteFailures(tx: DirectoryTransaction, subject: Buffer): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`delete from sign_in_failures where subject = ${sql.binary(subject)}`,
  );
}
