import { refuseUnstorable } from '../operations/index.js';

/** The query parameters as text; of a repeated name the last value counts. */
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
