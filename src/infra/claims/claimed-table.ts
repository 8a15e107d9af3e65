// Rows that a process claims for a time. The claim names the process, so that it is void once the process is gone.
import { z } from 'zod';
import { type DirectoryTransaction, sql } from '../storage/index.js';

type Fragment = ReturnType<typeof sql.fragment>;

/** A table whose rows processes claim; each owner describes its own. */
export interface ClaimedTable {
  /** The processes named by claims; called rarely, since it reads all claimed rows. */
  holders(tx: DirectoryTransaction): Promise<readonly string[]>;
  /** Ends the claims of these processes and returns how many. */
  release(tx: DirectoryTransaction, gone: readonly string[]): Promise<number>;
}

/** The name of this process on the rows that it claims, from the settings of its connections. */
export const claimingProcess: Fragment = sql.fragment`nullif(current_setting('troupe.process', true), '')`;

const holderRow = z.object({ claimed_by: z.string() });

export async function claimHolders(
  tx: DirectoryTransaction,
  table: Fragment,
  claimed: Fragment,
): Promise<readonly string[]> {
  const rows = await tx.any(sql.type(holderRow)`
    select distinct claimed_by from ${table} where ${claimed} and claimed_by is not null`);
  return rows.map(({ claimed_by: process }) => process);
}

export interface ReleasedRows {
  readonly table: Fragment;
  readonly keys: Fragment;
  /** Which rows are claimed. */
  readonly claimed: Fragment;
  /** Makes a row due. */
  readonly due: Fragment;
}

/** Skips locked rows: their last statement, sent before the process ended, still runs; the next call finds them. */
export async function releaseClaims(
  tx: DirectoryTransaction,
  gone: readonly string[],
  { table, keys, claimed, due }: ReleasedRows,
): Promise<number> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    update ${table} set claimed_by = null, ${due} where (${keys}) in (
      select ${keys} from ${table} where ${claimed} and claimed_by = any(${sql.array([...gone], 'text')})
      for update skip locked)`);
  return rowCount;
}
