/**
 * Text that PostgreSQL takes, as text and within JSON: without NUL, and without the half of a surrogate pair that a cut
 * leaves. A refused text would take all that is written with it along.
 */
export function storableText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}
