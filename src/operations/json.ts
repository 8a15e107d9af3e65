import { isUtf8 } from 'node:buffer';
import { invalidField, PlatformError } from '../errors.js';

/** Deeper nesting than any honest body has, far below what recursion over it could stand. */
const depthMax = 64;
const prototypeNames = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * A JSON body from outside, as a plain value. Refused are: broken UTF-8, malformed JSON, nesting beyond `depthMax`,
 * characters that PostgreSQL cannot store (NUL, half surrogate pairs) and, unless the operation takes care of them
 * itself, names that reach an object's prototype.
 */
export function parseJson(
  bytes: Uint8Array,
  options: { readonly prototypeNames: 'refuse' | 'pass' },
): unknown {
  if (!isUtf8(bytes)) throw malformed('The body is not valid UTF-8.');
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  if (opensMoreThan(text, depthMax) && nestingOf(text) > depthMax)
    throw malformed(`The body is nested deeper than ${depthMax} levels.`);
  const value = parse(text);
  // Only a body that can hold something of the kind is walked; nearly none can.
  if (
    text.includes('\\u') ||
    text.includes('__proto__') ||
    text.includes('prototype') ||
    text.includes('constructor')
  ) {
    inspect(value, '', options.prototypeNames === 'refuse');
  }
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw malformed('The body is not valid JSON.', cause);
  }
}

function malformed(message: string, cause?: unknown): PlatformError {
  return new PlatformError('validation_error', {
    message,
    details: { field: 'body', issue: message },
    cause,
  });
}

/** Brackets within texts count too: only what has so many at all is looked over letter by letter. */
function opensMoreThan(text: string, most: number): boolean {
  let count = 0;
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      count += 1;
      if (count > most) return true;
    }
  }
  return false;
}

function nestingOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (inString) {
      if (unit === 0x5c) index += 1;
      else if (unit === 0x22) inString = false;
    } else if (unit === 0x22) inString = true;
    else if (unit === 0x7b || unit === 0x5b) deepest = Math.max(deepest, (depth += 1));
    else if (unit === 0x7d || unit === 0x5d) depth -= 1;
  }
  return deepest;
}

function inspect(value: unknown, path: string, refuseNames: boolean): void {
  if (typeof value === 'string') return refuseUnstorable(value, path || 'body');
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) inspect(item, `${path}[${index}]`, refuseNames);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [name, item] of Object.entries(value)) {
    const at = path === '' ? name : `${path}.${name}`;
    refuseUnstorable(name, 'a field name');
    // "constructor" and "prototype" are honest words on their own; they are dangerous only as a way to the prototype.
    if (refuseNames && prototypeNames.has(name) && (name === '__proto__' || typeof item === 'object')) {
      throw invalidField(at, 'this name is not allowed');
    }
    inspect(item, at, refuseNames);
  }
}

/** Text that PostgreSQL would refuse, which must be the caller's error and not ours. */
export function refuseUnstorable(text: string, field: string): void {
  if (text.includes('\0')) throw invalidField(field, 'must not contain the NUL character');
  if (!text.isWellFormed()) throw invalidField(field, 'must not contain half of a surrogate pair');
}
