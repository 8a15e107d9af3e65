import { z } from 'zod';
import {
  type FoundPage,
  foundPage,
  pageRows,
  sql,
  type TenantTransaction,
  withinTextBytes,
} from '../../infra/storage/index.js';

/** The next sessions, by id, that have messages which no execution has received. */
export async function sessionsThatWait(
  tx: TenantTransaction,
  after: string,
  limit: number,
): Promise<readonly string[]> {
  const { tenantId } = tx.scope;
  const rows = await tx.any(sql.typeAlias('id')`
    select session_id as id from trigger_windows where tenant_id = ${tenantId} and session_id > ${after}
    union
    select session_id from trigger_inbox
    where tenant_id = ${tenantId} and state = 'running' and session_id > ${after}
    order by id limit ${limit}`);
  return rows.map(({ id }) => id);
}

const acceptedRow = z.object({
  seq: z.coerce.number(),
  sealed: z.instanceof(Buffer),
  /** A process may have it in memory; one in a buffer is in the store alone. */
  may_run: z.boolean(),
});
export type AcceptedMessage = z.output<typeof acceptedRow>;

/** Their messages in the order of acceptance, after `after`; those of a flushed buffer too. */
export async function acceptedOfSessions(
  tx: TenantTransaction,
  sessionIds: readonly string[],
  after: number,
  limit: number,
): Promise<FoundPage<AcceptedMessage>> {
  const { tenantId } = tx.scope;
  const sessions = sql.array([...sessionIds], 'uuid');
  const page = sql.fragment`
    select seq, sealed, may_run, octet_length(sealed) as text_bytes from (
      select seq, sealed, false as may_run from trigger_inbox
      where tenant_id = ${tenantId} and session_id = any(${sessions}) and state = 'buffered'
      union all
      select seq, sealed, true from trigger_inbox
      where tenant_id = ${tenantId} and session_id = any(${sessions}) and state = 'running'
      union all
      select p.seq, p.sealed, true from trigger_inbox r
        join trigger_inbox p on p.tenant_id = r.tenant_id and p.execution_id = r.execution_id and p.state = 'merged'
      where r.tenant_id = ${tenantId} and r.session_id = any(${sessions}) and r.state = 'running' and r.sealed = ''
    ) accepted
    where sealed <> '' and seq > ${after} order by seq limit ${limit + 1}`;
  const rows = await tx.any(
    sql.type(acceptedRow.extend(pageRows))`${withinTextBytes(page, sql.fragment`seq`)}`,
  );
  return foundPage(rows, limit);
}

/** Each state by the index that finds it: by session, or by execution for the parts of a flushed buffer. */
export async function forgetRows(
  tx: TenantTransaction,
  sessionIds: readonly string[],
  seqs: readonly number[],
): Promise<void> {
  if (seqs.length === 0) return;
  const { tenantId } = tx.scope;
  const sessions = sql.array([...sessionIds], 'uuid');
  const theirs = sql.fragment`seq = any(${sql.array([...seqs], 'int8')})`;
  await tx.query(sql.typeAlias('nothing')`
    delete from trigger_inbox
    where tenant_id = ${tenantId} and session_id = any(${sessions}) and state = 'buffered' and ${theirs}`);
  await tx.query(sql.typeAlias('nothing')`
    delete from trigger_inbox
    where tenant_id = ${tenantId} and session_id = any(${sessions}) and state = 'running' and ${theirs}`);
  const flushed = sql.fragment`tenant_id = ${tenantId} and session_id = any(${sessions}) and state = 'running'
    and sealed = ''`;
  // A buffer that is being split moves its messages to another execution: the next statement sees them there.
  await tx.query(
    sql.typeAlias('nothing')`select from trigger_inbox where ${flushed} order by trigger_id, key for update`,
  );
  await tx.query(sql.typeAlias('nothing')`
    delete from trigger_inbox
    where tenant_id = ${tenantId} and execution_id = any(array(select execution_id from trigger_inbox where ${flushed}))
      and state = 'merged' and ${theirs}`);
  await tx.query(sql.typeAlias('nothing')`
    delete from trigger_inbox r
    where ${flushed} and not exists (
      select from trigger_inbox p
      where p.tenant_id = r.tenant_id and p.execution_id = r.execution_id and p.state = 'merged')`);
}
