import { PlatformError } from '../../kernel/errors.js';
import { ownOf, textOf } from '../../infra/expressions/index.js';
import { cutText } from './mapped-context.js';

/**
 * Fills `{{ name }}` in URLs, bodies and messages. A dotted name is a path into a value. Inserted values are not
 * scanned for placeholders again, so a sender cannot inject one.
 */
const pattern = /\{\{[ \t]*([A-Za-z0-9_.-]{1,256})[ \t]*\}\}/g;
const whole = /^\{\{[ \t]*([A-Za-z0-9_.-]{1,256})[ \t]*\}\}$/;
const anyBraces = /\{\{/;
/** Scheme and host are fixed, so that inserted values cannot choose the destination. */
const fixedOrigin = /^https?:\/\/[^/?#{}@\\\s]+(?:[/?#]|$)/i;

export type Names = Readonly<Record<string, unknown>>;

/** Resolves a dotted path: the whole name first, then step by step; undefined if there is no value. */
export function valueAt(names: unknown, path: string): unknown {
  const direct = ownOf(names, path);
  if (direct !== undefined) return direct;
  return path.split('.').reduce<unknown>(ownOf, names);
}

/** The most text that one template may produce in total: a short template can name a long value thousands of times. */
export const filledCharsMax = 4_000_000;

/**
 * The characters that may still be produced. Several texts of one template share it. Further text is refused or cut.
 */
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

  /** Counts text that cannot be cut. */
  count(chars: number): void {
    this.#left -= chars;
    if (this.#left >= 0) return;
    throw new PlatformError('validation_error', {
      message: 'The filled template is too long. Use fewer or shorter values.',
      details: { field: 'template', issue: 'is too long when filled' },
    });
  }
}

/** Missing values become empty text. */
export function fillText(
  template: string,
  names: unknown,
  encode: (text: string) => string = (text) => text,
  room = new FillBudget(),
): string {
  return template.replaceAll(pattern, (_, name: string) => encode(room.take(textOf(valueAt(names, name)))));
}

/** The names of the placeholders, as they are written. */
export function namesIn(template: string): ReadonlySet<string> {
  return new Set([...template.matchAll(pattern)].flatMap(([, name]) => (name === undefined ? [] : [name])));
}

/** A text that is exactly one placeholder becomes its value, of any type. */
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

/** Undefined if an inserted value would leave the configured path. */
export function fillAddress(template: string, names: unknown): string | undefined {
  const [beforeQuery = ''] = template.split(/[?#]/, 1);
  for (const segment of beforeQuery.split('/').slice(3)) {
    if (!anyBraces.test(segment)) continue;
    if (/^(?:\.|%2e){1,2}$/i.test(fillText(segment, names, encodeURIComponent))) return undefined;
  }
  return fillText(template, names, encodeURIComponent);
}

/** The fault of a URL template; undefined if it is valid. */
export function faultOfAddress(template: string): string | undefined {
  if (!/^https?:\/\//i.test(template)) return 'must begin with http:// or https://, not with a placeholder';
  if (!fixedOrigin.test(template))
    return 'must have its host written out, without user, password or placeholder';
  return URL.canParse(sampleAddress(template)) ? undefined : 'is not a valid URL';
}

/** The URL with a harmless text in place of every placeholder. */
export function sampleAddress(template: string): string {
  return template.replaceAll(pattern, 'x');
}
