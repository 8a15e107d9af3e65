import type { SessionWrite } from './rows.js';

/** Of a number, a truth value or null with the comma behind it, and of the marks around a text, a name or a list. */
const bytesOfScalar = 8;
const bytesOfMarks = 4;

type Fields = Readonly<Record<string, unknown>>;

/**
 * About the size of a write as JSON. A character counts as one byte: it takes at most three, or six where JSON escapes it,
 * which the bound of a batch leaves room for. Making the JSON itself would take several times as long.
 */
export function bytesOfWrite(write: SessionWrite): number {
  return bytesOf(write);
}

function bytesOf(value: unknown): number {
  if (typeof value === 'string') return value.length + bytesOfMarks;
  if (typeof value !== 'object' || value === null) return bytesOfScalar;
  let bytes = bytesOfMarks;
  if (Array.isArray(value)) {
    for (const one of value) bytes += bytesOf(one);
    return bytes;
  }
  // Made of plain rows, and counted for every write: `Object.entries` was a fifteenth of all memory that a turn takes.
  for (const name in value) bytes += name.length + bytesOfMarks + bytesOf((value as Fields)[name]);
  return bytes;
}
