/** A field of a changed thing, before and after. */
export interface FieldChange {
  readonly old: unknown;
  readonly new: unknown;
}

export type FieldChanges = Readonly<Record<string, FieldChange>>;

/**
 * What the audit entry of a request needs besides the change itself. It travels with the tenant scope of the request's
 * caller, so that a subject writes the entry in its own transaction without knowing of requests.
 */
export interface AuditContext {
  /** The action that the operation declares, such as `keys.create`. */
  readonly action: string;
  /** The kind of the thing that the operation changes, such as `key`. */
  readonly targetKind: string;
  readonly targetName: string | null;
  readonly requestId: string;
  readonly address: string;
  readonly changes: FieldChanges;
  /** The subject of the entry that a transaction wrote for the operation: it leaves one, not two. */
  recorded: string | null;
}
