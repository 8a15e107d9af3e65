import { redacted } from '../../diagnostics/index.js';

/** Shorter ones occur in honest text by chance, and hiding them would tell where they stand. */
const lengthMin = 4;

/**
 * Takes secrets that come back in an answer out of it, in the forms in which servers echo what they were sent: as they
 * are, in base64, in percent-encoding, and as a JSON text.
 */
export function secretHider(values: readonly string[]): (text: string) => string {
  const forms = new Set(values.filter((value) => value.length >= lengthMin).flatMap(formsOf));
  // The longest first, so that no part of one is left when another is a part of it.
  const ordered = [...forms].toSorted((a, b) => b.length - a.length);
  return (text) => ordered.reduce((rest, form) => rest.replaceAll(form, redacted), text);
}

function formsOf(value: string): string[] {
  const base64 = Buffer.from(value, 'utf8').toString('base64');
  return [
    value,
    encodeURIComponent(value),
    new URLSearchParams({ v: value }).toString().slice(2),
    JSON.stringify(value).slice(1, -1),
    base64,
    base64.replace(/=+$/, ''),
    Buffer.from(value, 'utf8').toString('base64url'),
  ];
}
