import { redacted } from './redaction.js';
import { percentDecoded, plain, type Reading, unescaped } from './readings.js';

/** Shorter secrets occur in ordinary text by chance, and hiding them would reveal where they are. */
const lengthMin = 4;
/** Minimum length for the password in `user:password`: a short one may be any word. */
const partLengthMin = 8;
const paddingMax = 2;

/** Maximum length of one character when escaped or encoded. */
const encodedCharsMax = 12;

/** Hides known secrets in a text. With `charsMax`, only the first `charsMax` characters are returned. */
export type SecretHider = (text: string, charsMax?: number) => string;

/**
 * Hides secrets in the answer of a server, in all forms in which servers echo them: plain or base64, each of them
 * unchanged, JSON-escaped or percent-encoded. The running time stays linear even if secret and answer are crafted
 * together.
 */
export function secretHider(values: readonly string[], mark: string = redacted): SecretHider {
  const needles = [...new Set(values)].flatMap(needlesOf);
  if (needles.length === 0) return (text, charsMax = text.length) => text.slice(0, charsMax);
  const lengths = needles.map(({ length }) => length).toSorted((one, other) => one - other);
  const shortest = lengths.at(0) ?? 0;
  const longest = (lengths.at(-1) ?? 0) * encodedCharsMax;
  return (text, charsMax = text.length) => {
    // No form is shorter than the secret: most values of a JSON document end here.
    if (text.length < shortest) return text.slice(0, charsMax);
    // Text behind the cut is searched too, to recognise a secret that the cut splits.
    const looked = text.slice(0, charsMax + longest);
    const found: Range[] = [];
    for (const reading of readingsOf(looked)) {
      for (const needle of needles) needle.findIn(reading, looked, found);
    }
    return withoutRanges(text.slice(0, charsMax), found, mark);
  };
}

/** Copies a JSON value without the secrets in its texts, names and numbers. */
export function hideIn(value: unknown, hide: SecretHider): unknown {
  switch (typeof value) {
    case 'string':
      return hide(value);
    case 'number': {
      const text = String(value);
      return hide(text) === text ? value : redacted;
    }
    case 'object':
      if (value === null) return null;
      if (Array.isArray(value)) return value.map((item) => hideIn(item, hide));
      return Object.fromEntries(
        Object.entries(value).map(([name, item]) => [hide(name), hideIn(item, hide)]),
      );
    default:
      return value;
  }
}

interface Range {
  readonly start: number;
  readonly end: number;
}

function readingsOf(text: string): readonly Reading[] {
  return [
    plain(text),
    ...(text.includes('\\') ? [unescaped(text)] : []),
    ...(text.includes('%') || text.includes('+') ? [percentDecoded(text)] : []),
  ];
}

function needlesOf(value: string): readonly Needle[] {
  if (value.length < lengthMin) return [];
  const base64 = Buffer.from(value, 'utf8').toString('base64').replace(/=+$/, '');
  const password = value.slice(value.indexOf(':') + 1);
  const plainForms = new Set([value, ...(password.length < partLengthMin ? [] : [password])]);
  const encoded = new Set([base64, base64.replaceAll('+', '-').replaceAll('/', '_')]);
  return [
    ...[...plainForms].map((form) => new Needle(form, false)),
    ...[...encoded].map((form) => new Needle(form, true)),
  ];
}

/** Searches a text in time linear in both lengths (Knuth–Morris–Pratt). */
class Needle {
  readonly #units: Uint16Array;
  /** The failure function: after a mismatch, the length of the needle's prefix that still matches. */
  readonly #back: Int32Array;
  readonly #isPadded: boolean;

  get length(): number {
    return this.#units.length;
  }

  constructor(text: string, isPadded: boolean) {
    this.#isPadded = isPadded;
    const units = (this.#units = plain(text).units);
    const back = (this.#back = new Int32Array(units.length));
    for (let at = 1, seen = 0; at < units.length; at += 1) {
      while (seen > 0 && units[at] !== units[seen]) seen = back[seen - 1] ?? 0;
      if (units[at] === units[seen]) seen += 1;
      back[at] = seen;
    }
  }

  findIn({ units, starts }: Reading, text: string, found: Range[]): void {
    const needle = this.#units;
    const back = this.#back;
    let seen = 0;
    for (let at = 0; at < units.length; at += 1) {
      while (seen > 0 && units[at] !== needle[seen]) seen = back[seen - 1] ?? 0;
      if (units[at] === needle[seen]) seen += 1;
      if (seen < needle.length) continue;
      const first = at + 1 - needle.length;
      const start = starts?.[first] ?? first;
      found.push({ start, end: this.#endFrom(text, starts?.[at + 1] ?? at + 1) });
      seen = back[seen - 1] ?? 0;
    }
  }

  #endFrom(text: string, end: number): number {
    if (!this.#isPadded) return end;
    let padding = 0;
    while (padding < paddingMax && text[end + padding] === '=') padding += 1;
    return end + padding;
  }
}

/** Overlapping ranges are merged. */
function withoutRanges(text: string, found: Range[], mark: string): string {
  let shown = '';
  let end = 0;
  let open = false;
  for (const range of found.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    if (range.start >= text.length) break;
    if (open && range.start < end) {
      end = Math.max(end, range.end);
      continue;
    }
    shown += text.slice(end, range.start) + mark;
    end = range.end;
    open = true;
  }
  return shown + text.slice(end);
}
