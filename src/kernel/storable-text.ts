/**
 * Text that PostgreSQL takes, as text and within JSON: without NUL, and without the half of a surrogate pair that a cut
 * leaves. A refused text would take all that is written with it along.
 */
export function storableText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

/** A value of parsed JSON with such texts and names only. Its depth is bounded where it is parsed. */
export function storableValue(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value);
  if (Array.isArray(value)) return value.map(storableValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [storableText(name), storableValue(inner)]),
  );
}
