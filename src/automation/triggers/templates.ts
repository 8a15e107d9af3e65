import { PlatformError } from '../../kernel/errors.js';
import { ownOf, textOf } from '../../infra/expressions/index.js';
import { cutText } from './mapped-context.js';

/**
 * `{{ name }}` in addresses, bodies and messages. A dotted name is a path into a value. What was put in is never read
 * for placeholders again, so no sender can make one.
 */
const pattern = /\{\{[ \t]*([A-Za-z0-9_.-]{1,256})[ \t]*\}\}/g;
const whole = /^\{\{[ \t]*([A-Za-z0-9_.-]{1,256})[ \t]*\}\}$/;
const anyBraces = /\{\{/;
/** Scheme and host are fixed: whoever fills in the rest must not choose where it is sent. */
const fixedOrigin = /^https?:\/\/[^/?#{}@\\\s]+(?:[/?#]|$)/i;

export type Names = Readonly<Record<string, unknown>>;

/** What a dotted path leads to: the name as it stands, else step by step; undefined where nothing is. */
export function valueAt(names: unknown, path: string): unknown {
  const direct = ownOf(names, path);
  if (direct !== undefined) return direct;
  return path.split('.').reduce<unknown>(ownOf, names);
}

/** What may come of one template, all of its texts together: a short one can name a long value thousands of times. */
export const filledCharsMax = 4_000_000;

/** How many characters may still come. Several texts of one template share it. What is more is refused, or cut off. */
export class FillBudget {
  readonly #beyond: 'refuse' | 'cut';
  #left: number;

  constructor(charsMax = filledCharsMax, beyond: 'refuse' | 'cut' = 'refuse') {
    this.#left = charsMax;
    this.#beyond = beyond;
  }

  take(text: string): string {
    const taken = this.#beyond === 'cut' ? cutText(text, this.#left) : text;
    this.count(taken.length);
    return taken;
  }

  /** Of what cannot be cut off. */
  count(chars: number): void {
    this.#left -= chars;
    if (this.#left >= 0) return;
    throw new PlatformError('VALIDATION_ERROR', {
      message: 'A template gives more text than it may.',
      details: { field: 'template', issue: 'gives more text than it may' },
    });
  }
}

/** What is missing becomes empty text. */
export function fillText(
  template: string,
  names: unknown,
  encode: (text: string) => string = (text) => text,
  room = new FillBudget(),
): string {
  return template.replaceAll(pattern, (_, name: string) => encode(room.take(textOf(valueAt(names, name)))));
}

/** A text that is one placeholder and nothing else becomes its value, of whatever type. */
export function fillJson(template: unknown, names: unknown, room = new FillBudget()): unknown {
  if (typeof template === 'string') {
    const [, only] = whole.exec(template) ?? [];
    if (only === undefined) return fillText(template, names, undefined, room);
    const value = valueAt(names, only) ?? '';
    if (typeof value === 'string') return room.take(value);
    if (typeof value === 'object') room.count(JSON.stringify(value).length);
    return value;
  }
  if (Array.isArray(template)) return template.map((item) => fillJson(item, names, room));
  if (typeof template !== 'object' || template === null) return template;
  return Object.fromEntries(
    Object.entries(template).map(([name, item]) => [name, fillJson(item, names, room)]),
  );
}

/** Undefined where a value would climb out of the path that was written. */
export function fillAddress(template: string, names: unknown): string | undefined {
  const [beforeQuery = ''] = template.split(/[?#]/, 1);
  for (const segment of beforeQuery.split('/').slice(3)) {
    if (!anyBraces.test(segment)) continue;
    if (/^(?:\.|%2e){1,2}$/i.test(fillText(segment, names, encodeURIComponent))) return undefined;
  }
  return fillText(template, names, encodeURIComponent);
}

/** Why the text is no address that may be filled in; undefined when it is one. */
export function faultOfAddress(template: string): string | undefined {
  if (!/^https?:\/\//i.test(template)) return 'must begin with http:// or https://, written out';
  if (!fixedOrigin.test(template))
    return 'must have its host written out, without user, password or placeholder';
  return URL.canParse(sampleAddress(template)) ? undefined : 'is not an address';
}

/** The address with something harmless in the place of every placeholder. */
export function sampleAddress(template: string): string {
  return template.replaceAll(pattern, 'x');
}
