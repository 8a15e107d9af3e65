import { depthMax, JsonSize, valuesMax } from '../kernel/json-size.js';
import { TooLargeError } from './vendor-error.js';

/** Reads data from outside: every field may be missing, null or of another type than documented. */

/**
 * A vendor's type with nothing promised about it: field names are still checked against the vendor's own SDK, values
 * are unknown until looked at.
 */
export type Loose<T> = [T] extends [readonly (infer Item)[]]
  ? LooseList<Item>
  : [T] extends [object]
    ? { readonly [Key in KeysOf<T>]?: Loose<NonNullable<FieldOf<T, Key>>> | null | undefined }
    : unknown;

/** A list that may be missing, with the type of its items; read it with `list`. */
export interface LooseList<Item> {
  readonly '~item'?: Item;
}

/** The fields of all members of a union whose member is not known yet. */
type KeysOf<T> = T extends unknown ? keyof T : never;
type FieldOf<T, Key extends PropertyKey> = T extends unknown ? (Key extends keyof T ? T[Key] : never) : never;

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The objects of a list; other values are left out. */
export function list<Item>(value: LooseList<Item> | null | undefined): readonly Loose<Item>[] {
  return Array.isArray(value) ? value.filter((each): each is Loose<Item> => isRecord(each)) : [];
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function integer(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined;
}

/** A shorter text is parsed within a few milliseconds. */
const uncountedLength = 64 * 1024;

export function parseJson(source: string): unknown {
  return isTooLarge(source) ? undefined : parsed(source);
}

/** As `parseJson`, for what a vendor answers: throws if it has too many values, whether it is JSON or not. */
export function parseReply(source: string | Buffer, most = valuesMax): unknown {
  if (isTooLarge(source, most))
    throw new TooLargeError(
      `JSON of more than ${most} keys and list elements, or deeper than ${depthMax} levels`,
    );
  return parsed(source.toString());
}

function isTooLarge(source: string | Buffer, most?: number): boolean {
  if (source.length <= uncountedLength) return false;
  const size = new JsonSize(most);
  return (typeof source === 'string' ? size.addText(source) : size.add(source)) !== undefined;
}

function parsed(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch {
    // The caller tells valid from invalid by `undefined`, which JSON cannot hold, and reports it as its own error.
    return undefined;
  }
}

/** The arguments of a model's tool call as an object, which some vendors require; unparsable text becomes an empty object. */
export function argumentsObject(source: string): Record<string, unknown> {
  const parsed = parseJson(source);
  return isRecord(parsed) ? { ...parsed } : {};
}
