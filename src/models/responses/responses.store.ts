import { z } from 'zod';
import { type DirectoryTransaction, sql, type TenantTransaction } from '../../infra/storage/index.js';

const sealed = z.object({ sealed: z.instanceof(Buffer) });
const size = z.object({ turns: z.number(), bytes: z.number() });
const identified = sealed.extend({ id: z.uuid() });
const chained = identified.extend({ previous_id: z.uuid().nullable() });
const stale = identified.extend({ tenant_id: z.uuid() });

export type ChainedRow = z.output<typeof chained>;
export type ConversationSize = z.output<typeof size>;

export interface NewResponse extends ConversationSize {
  readonly id: string;
  readonly previousId: string | null;
  readonly sealed: Buffer;
  readonly createdAt: Date;
}

export async function insertResponse(tx: TenantTransaction, row: NewResponse): Promise<void> {
  const { id, previousId, turns, bytes, createdAt } = row;
  await tx.query(sql.typeAlias('nothing')`
    insert into stored_responses (tenant_id, id, previous_id, turns, bytes, sealed, created_at)
    values (${tx.scope.tenantId}, ${id}, ${previousId}, ${turns}, ${bytes}, ${sql.binary(row.sealed)},
      ${sql.timestamp(createdAt)})`);
}

export function readResponse(tx: TenantTransaction, id: string): Promise<z.output<typeof sealed> | null> {
  return tx.maybeOne(sql.type(sealed)`
    select sealed from stored_responses where tenant_id = ${tx.scope.tenantId} and id = ${id}`);
}

export function sizeOfConversation(tx: TenantTransaction, id: string): Promise<ConversationSize | null> {
  return tx.maybeOne(sql.type(size)`
    select turns, bytes from stored_responses where tenant_id = ${tx.scope.tenantId} and id = ${id}`);
}

/** The response and those before it, oldest first. */
export function readConversation(tx: TenantTransaction, id: string): Promise<readonly ChainedRow[]> {
  const { tenantId } = tx.scope;
  return tx.any(sql.type(chained)`
    with recursive conversation as (
      select id, previous_id, turns, sealed from stored_responses where tenant_id = ${tenantId} and id = ${id}
      union all
      select one.id, one.previous_id, one.turns, one.sealed
      from stored_responses one join conversation next on one.id = next.previous_id
      where one.tenant_id = ${tenantId})
    select id, previous_id, sealed from conversation order by turns`);
}

/** Of these responses the oldest, as long as they have no more bytes together. */
export function readResponses(
  tx: TenantTransaction,
  ids: readonly string[],
  bytesMax: number,
): Promise<readonly z.output<typeof identified>[]> {
  return tx.any(sql.type(identified)`
    select id, sealed from (
      select id, sealed, sum(octet_length(sealed)) over (order by created_at, id) as bytes from stored_responses
      where tenant_id = ${tx.scope.tenantId} and id = any(${sql.array([...ids], 'uuid')})) as found
    where bytes <= ${bytesMax}`);
}

/** Whether there was one. */
export async function deleteResponse(tx: TenantTransaction, id: string): Promise<boolean> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from stored_responses where tenant_id = ${tx.scope.tenantId} and id = ${id}`);
  return rowCount > 0;
}

/** Deletes at most `rowsMax` rows older than `before` and returns how many there were. */
export async function forgetResponses(tx: TenantTransaction, before: Date, rowsMax: number): Promise<number> {
  const { tenantId } = tx.scope;
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from stored_responses where (tenant_id, id) in (
      select tenant_id, id from stored_responses
      where tenant_id = ${tenantId} and created_at < ${sql.timestamp(before)} limit ${rowsMax})`);
  return rowCount;
}

/** Rows of any tenant that are not sealed under the key with this mark. */
export function lockStaleResponses(
  tx: DirectoryTransaction,
  mark: Uint8Array,
  rowsMax: number,
): Promise<readonly z.output<typeof stale>[]> {
  return tx.any(sql.type(stale)`
    select tenant_id, id, sealed from stored_responses
    where substring(sealed from 1 for ${mark.byteLength}) <> ${sql.binary(Buffer.from(mark))}
    limit ${rowsMax} for update`);
}

export async function replaceSealed(
  tx: DirectoryTransaction,
  row: { readonly tenantId: string; readonly id: string; readonly sealed: Buffer },
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update stored_responses set sealed = ${sql.binary(row.sealed)}
    where tenant_id = ${row.tenantId} and id = ${row.id}`);
}
