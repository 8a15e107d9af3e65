import { JsonSize } from '../kernel/json-size.js';

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

/** Keeps the item's type beside a list that may turn out to be none; `list` is the only way in. */
export interface LooseList<Item> {
  readonly '~item'?: Item;
}

/** The fields of every member of a union, since which member it is has not been looked at yet. */
type KeysOf<T> = T extends unknown ? keyof T : never;
type FieldOf<T, Key extends PropertyKey> = T extends unknown ? (Key extends keyof T ? T[Key] : never) : never;

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The objects of a list; what is none is left out. */
export function list<Item>(value: LooseList<Item> | null | undefined): readonly Loose<Item>[] {
  return Array.isArray(value) ? value.filter((each): each is Loose<Item> => isRecord(each)) : [];
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function integer(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined;
}

/** What is shorter is parsed within some milliseconds, whatever it holds. */
const uncountedLength = 64 * 1024;

export function parseJson(source: string): unknown {
  if (source.length > uncountedLength && new JsonSize().addText(source) !== undefined) return undefined;
  try {
    return JSON.parse(source);
  } catch {
    // The caller tells valid from invalid by `undefined`, which JSON cannot hold, and reports it as its own error.
    return undefined;
  }
}

/** Arguments that a model wrote, as the object that some vendors want back; what cannot be parsed becomes empty. */
export function argumentsObject(source: string): Record<string, unknown> {
  const parsed = parseJson(source);
  return isRecord(parsed) ? { ...parsed } : {};
}
