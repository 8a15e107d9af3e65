import { isDeepStrictEqual } from 'node:util';
import type { FieldChange, FieldChanges } from '../../kernel/audit-context.js';

type Fields = Readonly<Record<string, unknown>>;

/** The fields of `after` that differ from `before`. Null stands for a missing one, and for a thing that was just made. */
export function changedFields(before: Fields | null, after: Fields): FieldChanges {
  const changes: Record<string, FieldChange> = {};
  for (const [field, value] of Object.entries(after)) {
    const change = { old: before?.[field] ?? null, new: value ?? null };
    if (!isDeepStrictEqual(change.old, change.new)) changes[field] = change;
  }
  return changes;
}
