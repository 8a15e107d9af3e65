import { isReservedName, readAttachments } from '../../conversations/invocation/index.js';
import type { GivenPart } from '../../models/parts/index.js';
import { followPath, parseStoredPath } from './json-path.js';

export type Scalar = string | number | boolean;
export type MappedContext = Readonly<Record<string, Scalar>>;

export const mappedNamesMax = 50;
const valueCharsMax = 2_000;

/** The mapped name whose value is no context: images and files for the agent. */
const attachmentsName = 'attachments';

/** The images and files that the mapping names; throws if they have another form. */
export function mappedAttachments(
  mapping: Readonly<Record<string, string>>,
  payload: unknown,
): readonly GivenPart[] {
  const path = mapping[attachmentsName];
  const steps = path === undefined ? undefined : parseStoredPath(path);
  const value = steps === undefined ? undefined : followPath(steps, payload);
  return value === undefined || value === null ? [] : readAttachments(value);
}

/**
 * The payload fields that the mapping names. Missing and null values are omitted, objects and lists become compact
 * JSON, long values are cut, and reserved names are dropped.
 */
export function mappedContext(mapping: Readonly<Record<string, string>>, payload: unknown): MappedContext {
  const context: [string, Scalar][] = [];
  for (const [name, path] of Object.entries(mapping)) {
    const steps = parseStoredPath(path);
    if (steps === undefined || isReservedName(name) || name === attachmentsName) continue;
    const value = scalarOf(followPath(steps, payload));
    if (value !== undefined) context.push([name, value]);
  }
  return Object.fromEntries(context);
}

function scalarOf(value: unknown): Scalar | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  return cutText(typeof value === 'string' ? value : compactJson(value, valueCharsMax), valueCharsMax);
}

/**
 * Writes a JSON value as compact text and stops soon after `lengthMax` characters: fifty names may all select a payload
 * of a megabyte.
 */
export function compactJson(value: unknown, lengthMax: number): string {
  let text = '';
  const writeAll = (open: string, close: string, items: Iterable<readonly [string, unknown]>): void => {
    let before = open;
    for (const [name, item] of items) {
      if (text.length >= lengthMax) return;
      text += before + name;
      before = ',';
      write(item);
    }
    text += before === ',' ? close : open + close;
  };
  const write = (one: unknown): void => {
    if (typeof one === 'string') text += JSON.stringify(one.slice(0, lengthMax));
    else if (Array.isArray(one)) writeAll('[', ']', itemsOf(one));
    else if (typeof one === 'object' && one !== null) writeAll('{', '}', fieldsOf(one, lengthMax));
    else text += JSON.stringify(one);
  };
  write(value);
  return text;
}

function* itemsOf(list: readonly unknown[]): Generator<readonly [string, unknown]> {
  for (const item of list) yield ['', item];
}

function* fieldsOf(object: object, lengthMax: number): Generator<readonly [string, unknown]> {
  for (const name in object) {
    if (Object.hasOwn(object, name))
      yield [`${JSON.stringify(name.slice(0, lengthMax))}:`, Reflect.get(object, name)];
  }
}

/** Never cuts between the two units of a surrogate pair. */
export function cutText(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  const cut = text.slice(0, lengthMax);
  return /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut;
}
