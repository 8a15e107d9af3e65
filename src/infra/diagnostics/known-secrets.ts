import { redacted } from './redaction.js';
import { percentDecoded, plain, type Reading, unescaped } from './readings.js';

/** Shorter ones occur in honest text by chance, and hiding them would tell where they stand. */
const lengthMin = 4;
/** Of the password in `user:password`: a short one may be any word. */
const partLengthMin = 8;
const paddingMax = 2;

/** How long one character may be once it is escaped or encoded. */
const encodedCharsMax = 12;

/** Takes known secrets out of a text. With `charsMax`, of what stands in its first so many characters; no more is shown. */
export type SecretHider = (text: string, charsMax?: number) => string;

/**
 * Takes secrets that come back in an answer out of it, in the forms in which servers echo what they were sent: as they
 * are or in base64, each of them as it is, escaped as in JSON, or percent-encoded. Whoever made secret and answer to go
 * together cannot make it slow.
 */
export function secretHider(values: readonly string[], mark: string = redacted): SecretHider {
  const needles = [...new Set(values)].flatMap(needlesOf);
  if (needles.length === 0) return (text, charsMax = text.length) => text.slice(0, charsMax);
  const lengths = needles.map(({ length }) => length).toSorted((one, other) => one - other);
  const shortest = lengths.at(0) ?? 0;
  const longest = (lengths.at(-1) ?? 0) * encodedCharsMax;
  return (text, charsMax = text.length) => {
    // No form is shorter: most values of a JSON document are done here.
    if (text.length < shortest) return text.slice(0, charsMax);
    // A secret that the end cuts through is known by what comes behind it.
    const looked = text.slice(0, charsMax + longest);
    const found: Range[] = [];
    for (const reading of readingsOf(looked)) {
      for (const needle of needles) needle.findIn(reading, looked, found);
    }
    return withoutRanges(text.slice(0, charsMax), found, mark);
  };
}

/** A copy of a JSON value without the secrets: in texts, in names, and as numbers. */
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

/** A text that is looked for in time that grows with both lengths and not with their product (Knuth, Morris, Pratt). */
class Needle {
  readonly #units: Uint16Array;
  /** Where to go on in the needle when a unit differs: how much of its beginning has been seen again. */
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

/** Those that overlap are one. */
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
