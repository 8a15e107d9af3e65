import type { TenantScope } from '../../kernel/tenant-scope.js';

/**
 * What the audit says of an operation: the action, such as `keys.create`; the action, where the subject alone can write
 * the entry because the request has no tenant when it arrives; or the reason why there is no entry. `entries: 'never'`:
 * neither does anything that the operation calls write one, so the request's origin is not carried to it.
 */
export type AuditRule =
  | string
  | { readonly action: string; readonly by: 'subject' }
  | { readonly exempt: string; readonly entries?: 'never' };

/** An entry that the table writes for an operation. */
export interface EntryOfOperation {
  /** The caller, named by `actorOf`. */
  readonly actor: string;
  readonly action: string;
  /** Kind and id, such as `key:0b7e…`. */
  readonly subject: string;
  readonly targetName: string | null;
}

/** Where the table writes its entries. */
export interface AuditTrail {
  /** Commits the entry of an operation whose subject wrote none in its own transaction. */
  record(scope: TenantScope, entry: EntryOfOperation): Promise<void>;
  /** Commits the entry of a refused attempt. Does not throw: the refusal is answered in any case. */
  recordRefusal(scope: TenantScope, entry: EntryOfOperation): Promise<void>;
}

/** Kinds that are not the first word of the action without its `s`. */
const kinds: Readonly<Record<string, string>> = {
  'auth.token': 'key',
  members: 'user',
  auth: 'user',
  databases: 'database_config',
  'agent-versions': 'agent',
  deliveries: 'delivery',
};

export function actionOf(rule: AuditRule | undefined): string | undefined {
  if (rule === undefined || typeof rule === 'string') return rule;
  return undefined;
}

export function mayWriteEntries(rule: AuditRule | undefined): boolean {
  return !(typeof rule === 'object' && 'exempt' in rule && rule.entries === 'never');
}

/** `keys.create` → `key`. */
export function targetKindOf(action: string): string {
  const [first = ''] = action.split('.');
  return kinds[action] ?? kinds[first] ?? first.replace(/s$/, '');
}
