import { isReservedName } from '../../conversations/index.js';
import { followPath, parseJsonPath } from './json-path.js';

export type Scalar = string | number | boolean;
export type MappedContext = Readonly<Record<string, Scalar>>;

export const mappedNamesMax = 50;
const valueCharsMax = 2_000;

/**
 * The fields of a payload that the mapping names. What leads nowhere or to null is left out, objects and lists become
 * compact JSON, long values are cut, and reserved names are dropped.
 */
export function mappedContext(mapping: Readonly<Record<string, string>>, payload: unknown): MappedContext {
  const context: [string, Scalar][] = [];
  for (const [name, path] of Object.entries(mapping)) {
    const steps = parseJsonPath(path);
    if (steps === undefined || isReservedName(name)) continue;
    const value = scalarOf(followPath(steps, payload));
    if (value !== undefined) context.push([name, value]);
  }
  return Object.fromEntries(context);
}

function scalarOf(value: unknown): Scalar | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  return cutText(typeof value === 'string' ? value : JSON.stringify(value), valueCharsMax);
}

/** Never in the middle of a character that takes two units. */
export function cutText(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  const cut = text.slice(0, lengthMax);
  return /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut;
}
