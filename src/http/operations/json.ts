import { isUtf8 } from 'node:buffer';
import { invalidField, PlatformError } from '../../kernel/errors.js';
import { JsonSize } from '../../kernel/json-size.js';

const prototypeNames = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Parses a JSON body from outside. Refuses broken UTF-8, malformed JSON, more nesting or more values than `JsonSize`
 * allows, characters that PostgreSQL cannot store (NUL, half surrogate pairs) and, unless the operation handles them
 * itself, names that reach an object's prototype.
 */
export function parseJson(
  bytes: Uint8Array,
  options: {
    readonly prototypeNames: 'refuse' | 'pass';
    /** True if the bytes were counted when they arrived. */
    readonly isCounted?: boolean;
  },
): unknown {
  const { text, value } = parsed(bytes, options.isCounted === true);
  // The walk is needed only if the text contains one of these; nearly no body does.
  if (
    text.includes('\\u') ||
    text.includes('__proto__') ||
    text.includes('prototype') ||
    text.includes('constructor')
  ) {
    refuseForbidden(value, '', options.prototypeNames === 'refuse');
  }
  return value;
}

/** The same without the look at names and characters: the caller calls `refuseForbidden` for each part itself. */
export function parseUnchecked(bytes: Uint8Array): unknown {
  return parsed(bytes, false).value;
}

function parsed(bytes: Uint8Array, isCounted: boolean): { readonly text: string; readonly value: unknown } {
  if (!isCounted) refuseOversized(new JsonSize(), bytes);
  if (!isUtf8(bytes)) throw malformed('The body is not valid UTF-8.');
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  return { text, value: parse(text) };
}

/** Counts further bytes of a body; throws if it is nested too deeply or has too many values. */
export function refuseOversized(size: JsonSize, bytes: Uint8Array): void {
  const fault = size.add(bytes);
  if (fault !== undefined) throw malformed(fault);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw malformed('The body is not valid JSON.', cause);
  }
}

function malformed(message: string, cause?: unknown): PlatformError {
  return new PlatformError('malformed_body', {
    message,
    details: { field: 'body', issue: message },
    cause,
  });
}

/** Refuses what PostgreSQL cannot store, and names that reach an object's prototype. */
export function refuseForbidden(value: unknown, path: string, refuseNames: boolean): void {
  if (typeof value === 'string') return refuseUnstorable(value, path || 'body');
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) refuseForbidden(item, `${path}[${index}]`, refuseNames);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [name, item] of Object.entries(value)) {
    const at = path === '' ? name : `${path}.${name}`;
    refuseUnstorable(name, 'a field name');
    // "constructor" and "prototype" alone are ordinary words; they are dangerous only as a path to the prototype.
    if (refuseNames && prototypeNames.has(name) && (name === '__proto__' || typeof item === 'object')) {
      throw invalidField(at, 'this name is not allowed');
    }
    refuseForbidden(item, at, refuseNames);
  }
}

/** PostgreSQL would refuse this text; the caller must get the error, not the platform. */
export function refuseUnstorable(text: string, field: string): void {
  if (text.includes('\0')) throw invalidField(field, 'must not contain the NUL character');
  if (!text.isWellFormed()) throw invalidField(field, 'must not contain half of a surrogate pair');
}
