import { z } from 'zod';
import { PlatformError } from '../../kernel/errors.js';
import type { KeyedRequest, TenantScope } from '../../kernel/tenant-scope.js';
import {
  type DirectoryTransaction,
  sql,
  type TenantTransaction,
  type Transaction,
} from '../../infra/storage/index.js';

/** Longer than a few missed renewals; after a crash a repeat waits this long. */
const heldMs = 15_000;
export const keptMs = 24 * 3_600_000;

export interface RequestName {
  readonly caller: string;
  readonly operation: string;
  readonly keyHash: Buffer;
  readonly bodyHash: Buffer;
}

const takenRow = z.object({ seed: z.uuid(), subject: z.string().nullable(), again: z.boolean() });

/**
 * Takes a request that is new, has expired, or lost its holder before it was answered. Null if it is answered, held by
 * another attempt, or has another body.
 */
export function takeRequest(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  { caller, operation, keyHash, bodyHash }: RequestName,
  fresh: KeyedRequest,
): Promise<z.output<typeof takenRow> | null> {
  const isOver = sql.fragment`r.expires_at <= now()`;
  return tx.maybeOne(sql.type(takenRow)`
    insert into idempotent_requests as r
      (tenant_id, caller, operation, key_hash, body_hash, seed, holder, held_until, expires_at)
    values (${tenantId}, ${caller}, ${operation}, ${sql.binary(keyHash)}, ${sql.binary(bodyHash)}, ${fresh.seed},
      ${fresh.holder}, ${untilFrom(heldMs)}, ${untilFrom(keptMs)})
    on conflict (tenant_id, caller, operation, key_hash) do update set
      body_hash = excluded.body_hash,
      seed = case when ${isOver} then excluded.seed else r.seed end,
      holder = excluded.holder,
      held_until = excluded.held_until,
      subject = case when ${isOver} then null else r.subject end,
      answered = false,
      sealed_answer = null,
      expires_at = case when ${isOver} then excluded.expires_at else r.expires_at end
    where ${isOver}
      or (not r.answered and r.body_hash = excluded.body_hash and r.held_until <= clock_timestamp())
    returning seed, subject, seed <> ${fresh.seed} as again`);
}

const knownRow = z.object({
  seed: z.uuid(),
  body_hash: z.instanceof(Uint8Array),
  subject: z.string().nullable(),
  answered: z.boolean(),
  sealed_answer: z.instanceof(Uint8Array).nullable(),
});

export function findRequest(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  { caller, operation, keyHash }: RequestName,
): Promise<z.output<typeof knownRow> | null> {
  return tx.maybeOne(sql.type(knownRow)`
    select seed, body_hash, subject, answered, sealed_answer from idempotent_requests
    where tenant_id = ${tenantId} and caller = ${caller} and operation = ${operation}
      and key_hash = ${sql.binary(keyHash)}`);
}

/** False once another attempt has taken the request over. */
export async function renewRequest(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  { seed, holder }: KeyedRequest,
): Promise<boolean> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    update idempotent_requests set held_until = ${untilFrom(heldMs)}
    where tenant_id = ${tenantId} and seed = ${seed} and holder = ${holder}`);
  return rowCount > 0;
}

export async function keepAnswer(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  { seed, holder }: KeyedRequest,
  sealed: Buffer | null,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update idempotent_requests set answered = true, holder = null, held_until = null,
      sealed_answer = ${sealed === null ? null : sql.binary(sealed)}
    where tenant_id = ${tenantId} and seed = ${seed} and holder = ${holder}`);
}

/**
 * Forgets a request that made nothing, unless its ids must stay the same. One that made something stays, for a repeat to
 * find it: also if its transaction is still about to commit, because this waits for the row. Without a holder, a renewal
 * that comes late does not hold the request again.
 */
export async function releaseRequest(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  { seed, holder }: KeyedRequest,
  keepsSeed: boolean,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    delete from idempotent_requests
    where tenant_id = ${tenantId} and seed = ${seed} and holder = ${holder} and subject is null
      and not ${keepsSeed}`);
  await tx.query(sql.typeAlias('nothing')`
    update idempotent_requests set holder = null, held_until = now()
    where tenant_id = ${tenantId} and seed = ${seed} and holder = ${holder}`);
}

/**
 * Records what the request of this transaction makes, so that both commit together or not at all. A request that
 * another attempt has taken over makes nothing: the error rolls the transaction back.
 */
export async function recordMade(tx: Transaction, subject: string): Promise<void> {
  const request = 'scope' in tx ? tx.scope.request : undefined;
  if (request === undefined || !('scope' in tx)) return;
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    update idempotent_requests set subject = ${subject}
    where tenant_id = ${tx.scope.tenantId} and seed = ${request.seed} and holder = ${request.holder}`);
  if (rowCount > 0) return;
  throw new PlatformError('conflict', {
    message: 'A repeat of this request has taken it over. Send it again with the same Idempotency-Key.',
  });
}

/** Deletes at most `rowsMax` rows that are older than a day. The policy protects the others. */
export async function forgetRequests(tx: DirectoryTransaction, rowsMax: number): Promise<number> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from idempotent_requests where (tenant_id, seed) in (
      select tenant_id, seed from idempotent_requests where expires_at <= now()
      order by expires_at limit ${rowsMax})`);
  return rowCount;
}

function untilFrom(ms: number) {
  return sql.fragment`clock_timestamp() + ${ms} * interval '1 millisecond'`;
}
