import { sql, type Transaction } from '../../infra/storage/index.js';
import { redactDeep, redactText } from '../../infra/diagnostics/index.js';

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
   * Facts for later readers. Redacted by name and by shape before it is written, but a secret without a telling name or
   * shape cannot be recognised: never put one in.
   */
  readonly details?: Readonly<Record<string, unknown>>;
}

const textMax = 256;
const bounds = { depthMax: 5, entriesMax: 50, valuesMax: 200, textMax: 1_024 };

/** Writes the entry in the caller's transaction, so that it commits or rolls back with the act. */
export async function recordAudit(tx: Transaction, entry: AuditEntry): Promise<void> {
  const actor = storable(redactText(entry.actor)).slice(0, textMax);
  const subject = storable(redactText(entry.subject)).slice(0, textMax);
  const details = JSON.stringify(redactDeep(entry.details ?? {}, bounds), (_name, value: unknown) =>
    typeof value === 'string' ? storable(value) : value,
  );
  if (entry.tenantId === null) {
    await tx.query(sql.typeAlias('nothing')`
      insert into platform_audit_entries (actor, action, subject, details)
      values (${actor}, ${entry.action}, ${subject}, ${details}::jsonb)`);
  } else {
    await tx.query(sql.typeAlias('nothing')`
      insert into audit_entries (tenant_id, actor, action, subject, details)
      values (${entry.tenantId}, ${actor}, ${entry.action}, ${subject}, ${details}::jsonb)`);
  }
}

/** PostgreSQL refuses NUL and half surrogate pairs; such a character must not roll back the recorded act. */
function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}
