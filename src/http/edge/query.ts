import { refuseUnstorable } from '../operations/index.js';

/** The query as text values; a name given twice keeps its last value. */
export function parseQuery(raw: string): Readonly<Record<string, string>> {
  if (raw === '') return nothing;
  const values: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of new URLSearchParams(raw)) {
    refuseUnstorable(value, 'a query parameter');
    values[name] = value;
  }
  return values;
}

const nothing: Readonly<Record<string, string>> = Object.freeze({});
