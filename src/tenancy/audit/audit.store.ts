import { z } from 'zod';
import {
  type DirectoryTransaction,
  sql,
  type TenantTransaction,
  type Transaction,
} from '../../infra/storage/index.js';
import type { AuditContext, FieldChanges } from '../../kernel/audit-context.js';
import { requestOrigin } from '../../kernel/request-origin.js';
import { recordMade } from '../../http/idempotency/index.js';
import { redactDeep, redactText } from '../../infra/diagnostics/index.js';
import { storableText } from '../../kernel/storable-text.js';

export interface AuditEntry {
  /**
   * The affected tenant. Null for an act on the platform as a whole, which only a directory transaction may record and no
   * tenant sees. In a tenant's transaction it must be that tenant: row-level security refuses any other.
   */
  readonly tenantId: string | null;
  /** The caller, named by `actorOf`; `system` for work that no caller requested. */
  readonly actor: string;
  /** `subject.verb`, such as `secret.created`. */
  readonly action: string;
  /** Kind and id of the affected thing, such as `secret:0b7e…`. */
  readonly subject: string;
  /**
   * Kind and id of what the act makes, where that is not the subject: the version of an agent. A repeat of the request
   * finds it by this.
   */
  readonly made?: string;
  /**
   * Facts for later readers. Redacted by name and by shape before it is written, but a secret without a telling name or
   * shape cannot be recognised: never put one in.
   */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Fields with their values in this transaction; they replace those that the request alone tells. */
  readonly changes?: FieldChanges;
  /** The name of the target, if it has one and is no user. */
  readonly targetName?: string | null;
  /** Default: `done`. */
  readonly outcome?: 'done' | 'refused';
}

const textMax = 256;
/**
 * Entries of one millisecond are listed by their ids, so an id begins with the microseconds of the minute: a cause then
 * stands before its effect.
 */
const nextId = sql.fragment`overlay(gen_random_uuid()::text
  placing lpad(to_hex(extract(microseconds from clock_timestamp())::int), 8, '0') from 1)::uuid`;
const bounds = { depthMax: 5, entriesMax: 50, valuesMax: 200, textMax: 1_024 };

/**
 * Writes the entry in the caller's transaction, so that it commits or rolls back with the act. In the transaction of a
 * request the entry names the request; about the thing that the operation changes, it is the operation's one entry.
 */
export async function recordAudit(tx: Transaction, entry: AuditEntry): Promise<void> {
  const actor = bounded(entry.actor);
  const subject = bounded(entry.subject);
  const details = asJson(entry.details ?? {});
  const request = 'scope' in tx ? tx.scope.audit : undefined;
  const { requestId = null, address = null } = request ?? requestOrigin() ?? {};
  if (entry.tenantId === null) {
    await tx.query(sql.typeAlias('nothing')`
      insert into platform_audit_entries (actor, action, subject, details, request_id, address)
      values (${actor}, ${entry.action}, ${subject}, ${details}::jsonb, ${requestId}, ${address})`);
    return;
  }
  const own = request !== undefined && isOf(request, subject) ? request : undefined;
  const name = own?.targetName ?? entry.targetName ?? null;
  await tx.query(sql.typeAlias('nothing')`
    insert into audit_entries (
      id, tenant_id, actor, action, subject, details, request_id, address, target_name, changes, outcome)
    values (${nextId}, ${entry.tenantId}, ${actor}, ${own?.action ?? entry.action}, ${subject}, ${details}::jsonb,
      ${requestId}, ${address}, ${name === null ? null : bounded(name)},
      ${asJson({ ...own?.changes, ...entry.changes })}::jsonb, ${entry.outcome ?? 'done'})`);
  if (own === undefined) return;
  own.recorded = subject;
  await recordMade(tx, bounded(entry.made ?? subject));
}

/**
 * The entry of an act on an account: one for the platform, and one in each tenant of the user, whose owners are to see
 * that a member's sign-in changed. The details, which may name other tenants, are the platform's alone.
 */
export async function recordAccountAudit(
  tx: DirectoryTransaction,
  tenantIds: readonly string[],
  entry: Omit<AuditEntry, 'tenantId' | 'targetName' | 'outcome'>,
): Promise<void> {
  await recordAudit(tx, { ...entry, tenantId: null });
  if (tenantIds.length === 0) return;
  const { requestId = null, address = null } = requestOrigin() ?? {};
  await tx.query(sql.typeAlias('nothing')`
    insert into audit_entries (id, tenant_id, actor, action, subject, request_id, address, changes)
    select ${nextId}, tenant_id, ${bounded(entry.actor)}, ${entry.action}, ${bounded(entry.subject)}, ${requestId}, ${address},
      ${asJson({ ...entry.changes })}::jsonb
    from unnest(${sql.array([...tenantIds], 'uuid')}) as of_user (tenant_id)`);
}

/** Whether the entry is about the thing that the operation changes: the first one, and the same after a repeat. */
function isOf({ targetKind, recorded }: AuditContext, subject: string): boolean {
  return subject.startsWith(`${targetKind}:`) && (recorded === null || recorded === subject);
}

function bounded(text: string): string {
  return storableText(redactText(text).slice(0, textMax));
}

function asJson(value: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(redactDeep(value, bounds), (_name, item: unknown) =>
    typeof item === 'string' ? storableText(item) : item,
  );
}

/** Names an erased consumer by this hash in the entries that were written before. */
export async function forgetAuditedConsumer(tx: TenantTransaction, key: string, hash: string): Promise<void> {
  await tx.any(sql.type(z.object({ forgotten: z.unknown() }))`
    select forget_audited_consumer(${storableText(redactText(key))}, ${hash}) as forgotten`);
}

export function forgetAuditEntries(tx: TenantTransaction, before: Date, rowsMax: number): Promise<number> {
  return tx.oneFirst(sql.type(z.object({ gone: z.number() }))`
    select forget_audit_entries(${sql.timestamp(before)}, ${rowsMax}) as gone`);
}

/** Of the platform's own entries, which no tenant sees. */
export function forgetPlatformAudit(
  tx: DirectoryTransaction,
  before: Date,
  rowsMax: number,
): Promise<number> {
  return tx.oneFirst(sql.type(z.object({ gone: z.number() }))`
    select forget_platform_audit(${sql.timestamp(before)}, ${rowsMax}) as gone`);
}

/** Some entries of a tenant that is being deleted; of any other tenant none. */
export function forgetAuditOfDeleted(tx: TenantTransaction, rowsMax: number): Promise<number> {
  return tx.oneFirst(sql.type(z.object({ gone: z.number() }))`
    select forget_audit_of_deleted(${rowsMax}) as gone`);
}
