import { PlatformError } from '../../kernel/errors.js';
import type { IgnoredFields } from './ignored-fields.js';

export type Scalar = string | number | boolean;
export type FlatObject = Readonly<Record<string, Scalar>>;

/** The refusal of a turn's body, in the words that invocation has for it. */
export function invalid(field: string, issue: string): PlatformError {
  return new PlatformError('VALIDATION_ERROR', { message: `${field}: ${issue}`, details: { field, issue } });
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Makes the refusal of a field: those who read the same object for another endpoint have other words for it. */
export type Refuse = (field: string, issue: string) => PlatformError;

/**
 * An object of scalars. Names that are not allowed are dropped and reported before their value is looked at; a null
 * says that there is no value, and is dropped in silence.
 */
export function readFlatObject(
  field: string,
  value: unknown,
  isForbidden: (name: string) => boolean,
  ignored: IgnoredFields,
  refuse: Refuse = invalid,
): FlatObject {
  if (!isObject(value)) throw refuse(field, 'must be an object');
  const kept: [string, Scalar][] = [];
  for (const [name, item] of Object.entries(value)) {
    if (isForbidden(name)) ignored.add(`${field}.${name}`, 'reserved_key');
    else if (item !== null) kept.push([name, readScalar(`${field}.${name}`, item, refuse)]);
  }
  return Object.fromEntries(kept);
}

function readScalar(field: string, value: unknown, refuse: Refuse): Scalar {
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  // JSON can write numbers that no double holds; they would be stored as null.
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw refuse(shortened(field), 'must be a text, a finite number, a boolean or null');
}

function shortened(field: string): string {
  return field.length <= 160 ? field : `${field.slice(0, 160)}…`.toWellFormed();
}

/** In UTF-16 units, the value as text. */
export function charactersOf(value: Scalar): number {
  return String(value).length;
}

/** As compact JSON in UTF-8. */
export function bytesOf(object: FlatObject): number {
  return Buffer.byteLength(JSON.stringify(object));
}

export function isEmpty(object: FlatObject): boolean {
  for (const name in object) if (Object.hasOwn(object, name)) return false;
  return true;
}
