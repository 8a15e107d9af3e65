import { invalidField } from '../../kernel/errors.js';
import type { IgnoredFields } from './ignored-fields.js';

export type Scalar = string | number | boolean;
export type FlatObject = Readonly<Record<string, Scalar>>;

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Reads an object of scalars. Names that are not allowed are dropped and reported before their value is read. A
 * null means "no value" and is dropped without a report.
 */
export function readFlatObject(
  field: string,
  value: unknown,
  isForbidden: (name: string) => boolean,
  ignored: IgnoredFields,
): FlatObject {
  if (!isObject(value)) throw invalidField(field, 'must be an object');
  const kept: [string, Scalar][] = [];
  for (const [name, item] of Object.entries(value)) {
    if (isForbidden(name)) ignored.add(`${field}.${name}`, 'reserved_key');
    else if (item !== null) kept.push([name, readScalar(`${field}.${name}`, item)]);
  }
  return Object.fromEntries(kept);
}

function readScalar(field: string, value: unknown): Scalar {
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  // JSON can contain numbers outside the range of a double; they would be stored as null.
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw invalidField(shortened(field), 'must be a text, a finite number, a boolean or null');
}

function shortened(field: string): string {
  return field.length <= 160 ? field : `${field.slice(0, 160)}…`.toWellFormed();
}

/** The length of the value as text, in UTF-16 units. */
export function charactersOf(value: Scalar): number {
  return String(value).length;
}

/** The size as compact JSON in UTF-8. */
export function bytesOf(object: FlatObject): number {
  return Buffer.byteLength(JSON.stringify(object));
}

export function isEmpty(object: FlatObject): boolean {
  for (const name in object) if (Object.hasOwn(object, name)) return false;
  return true;
}
