import { UnreadableMessage } from '../../../infra/runtime/index.js';
import type { FlatObject } from '../../invocation/index.js';

/**
 * Objects whose names and values are the tenant's, as `google.protobuf.Struct`. Callers cannot declare the name
 * `__proto__`, which the generated code cannot carry.
 */
export type StructMessage = { readonly [name: string]: unknown } | undefined;

/** A JSON object as text: a struct cannot carry every number and name. */
export function objectFromWire(field: string, text: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>;
  throw new UnreadableMessage(field, 'is not a JSON object');
}

/** An empty object is left out. */
export function flatToWire(object: FlatObject): { [name: string]: unknown } | undefined {
  for (const name in object) if (Object.hasOwn(object, name)) return object;
  return undefined;
}

export function flatFromWire(field: string, struct: StructMessage): FlatObject {
  if (struct === undefined) return {};
  if (!isFlat(struct)) throw new UnreadableMessage(field, 'has a value that is no text, number or boolean');
  return struct;
}

function isFlat(struct: NonNullable<StructMessage>): struct is FlatObject {
  return Object.values(struct).every(
    (value) => typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean',
  );
}
