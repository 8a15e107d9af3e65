import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';
import { claimingProcess } from '../../infra/claims/index.js';

/** The messages of a flushed buffer that do not become the turn of its execution. */
export interface BufferSplit {
  readonly executionId: string;
  /** The execution of the rest, until that is split too. */
  readonly restId: string;
  readonly isInFirst: (sealed: Buffer) => boolean;
  readonly holdMs: number;
  readonly keepMs: number;
}

export interface SplitBuffer {
  readonly first: readonly Buffer[];
  /** Undefined if all messages are in the same turn, since others were erased meanwhile. */
  readonly rest:
    | { readonly key: string; readonly seq: number; readonly parts: readonly Buffer[] }
    | undefined;
}

const partRow = z.object({ seq: z.coerce.number(), sealed: z.instanceof(Buffer) });

/** `buffer:` and the execution with which the buffer was flushed. */
const rootLength = 'buffer:'.length + 36;

/**
 * Gives the rest of a flushed buffer a row of its own, claimed by this process like the first. Undefined if another process
 * has the buffer. Whoever deletes messages of a buffer locks its row too, so none is missed on its way to the other.
 */
export async function splitBuffer(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  row: { readonly trigger_id: string; readonly key: string },
  { executionId, restId, isInFirst, holdMs, keepMs }: BufferSplit,
): Promise<SplitBuffer | undefined> {
  // With a later end of the hold, no claim that began before takes the row with the messages that it had then.
  const sessionId = await tx.maybeOneFirst(sql.typeAlias('id')`
    update trigger_inbox set due_at = clock_timestamp() + ${holdMs} * interval '1 millisecond'
    where tenant_id = ${tenantId} and trigger_id = ${row.trigger_id} and key = ${row.key} and state = 'running'
      and execution_id = ${executionId} and claimed_by is not distinct from ${claimingProcess}
    returning session_id as id`);
  if (sessionId === null) return undefined;
  const parts = await tx.any(sql.type(partRow)`
    select seq, sealed from trigger_inbox
    where tenant_id = ${tenantId} and execution_id = ${executionId} and state = 'merged' order by seq`);
  const first = parts.filter(({ sealed }) => isInFirst(sealed));
  const others = parts.filter((part) => !first.includes(part));
  if (first.length === 0 || others.length === 0)
    return { first: parts.map(({ sealed }) => sealed), rest: undefined };
  const seqs = others.map(({ seq }) => seq);
  await tx.query(sql.typeAlias('nothing')`
    update trigger_inbox set execution_id = ${restId}
    where tenant_id = ${tenantId} and execution_id = ${executionId} and state = 'merged'
      and seq = any(${sql.array(seqs, 'int8')})`);
  const key = `${row.key.slice(0, rootLength)}:${restId}`;
  const { seq } = await tx.one(sql.type(z.object({ seq: z.coerce.number() }))`
    insert into trigger_inbox (tenant_id, trigger_id, key, session_id, execution_id, state, payload_hash, sealed, attempts,
      due_at, expires_at)
    values (${tenantId}, ${row.trigger_id}, ${key}, ${sessionId}, ${restId}, 'running', '', '', 1,
      clock_timestamp() + ${holdMs} * interval '1 millisecond',
      clock_timestamp() + ${keepMs} * interval '1 millisecond')
    returning seq`);
  return {
    first: first.map(({ sealed }) => sealed),
    rest: { key, seq, parts: others.map(({ sealed }) => sealed) },
  };
}

/** The executions that the messages of one buffer became. */
export async function executionsOfBuffer(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  { trigger_id, execution_id }: { readonly trigger_id: string; readonly execution_id: string | null },
): Promise<readonly string[]> {
  const rows = await tx.any(sql.typeAlias('id')`
    select a.execution_id as id from trigger_inbox r
      join trigger_inbox a on a.tenant_id = r.tenant_id and a.trigger_id = r.trigger_id
        and a.key >= left(r.key, ${rootLength}) and a.key < left(r.key, ${rootLength}) || ';'
    where r.tenant_id = ${tenantId} and r.trigger_id = ${trigger_id} and r.execution_id = ${execution_id}
      and starts_with(r.key, 'buffer:')`);
  return rows.map(({ id }) => id);
}
