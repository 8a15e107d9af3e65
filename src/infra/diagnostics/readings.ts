/** A text as comparable units, and the position of each in the text; `starts` is undefined if they are identical. */
export interface Reading {
  readonly units: Uint16Array;
  /** Has one entry more than `units`: the end of the text. */
  readonly starts: Int32Array | undefined;
}

export function plain(text: string): Reading {
  const units = new Uint16Array(text.length);
  for (let at = 0; at < text.length; at += 1) units[at] = text.charCodeAt(at);
  return { units, starts: undefined };
}

const backslash = 0x5c;
const escapes: ReadonlyMap<number, number> = new Map(
  Object.entries({ b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }).map(([letter, meant]) => [
    letter.charCodeAt(0),
    meant.charCodeAt(0),
  ]),
);

/** Undoes JSON escapes: some writers escape `/`, `+`, or everything outside ASCII. */
export function unescaped(text: string): Reading {
  return read(text, [backslash, backslash], (at) => {
    const next = text.charCodeAt(at + 1);
    const code = next === 0x75 ? hexAt(text, at + 2, 4) : -1;
    if (code >= 0) return { units: [code], length: 6 };
    return Number.isNaN(next) ? undefined : { units: [escapes.get(next) ?? next], length: 2 };
  });
}

const percent = 0x25;
const plus = 0x2b;
const space = 0x20;

/** Undoes percent-encoding, and `+` for a space, as in forms. */
export function percentDecoded(text: string): Reading {
  return read(text, [percent, plus], (at) =>
    text.charCodeAt(at) === plus ? { units: [space], length: 1 } : encodedAt(text, at),
  );
}

interface Piece {
  readonly units: readonly number[];
  /** Consumed characters of the text; at least the number of units. */
  readonly length: number;
}

/** Decodes one percent-encoded character of up to four bytes. */
function encodedAt(text: string, at: number): Piece | undefined {
  const first = hexAt(text, at + 1, 2);
  if (first < 0) return undefined;
  if (first < 0x80) return { units: [first], length: 3 };
  const count = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const bytes = [first];
  for (let index = 1; index < count; index += 1) {
    const next = text.charCodeAt(at + index * 3) === percent ? hexAt(text, at + index * 3 + 1, 2) : -1;
    if (next < 0) return undefined;
    bytes.push(next);
  }
  return { units: [...plain(Buffer.from(bytes).toString('utf8')).units], length: count * 3 };
}

/** Calls `pieceAt` only at one of the two marks; other characters are copied. */
function read(
  text: string,
  marks: readonly [number, number],
  pieceAt: (at: number) => Piece | undefined,
): Reading {
  const units = new Uint16Array(text.length);
  const starts = new Int32Array(text.length + 1);
  const [one, other] = marks;
  let count = 0;
  for (let at = 0; at < text.length;) {
    const code = text.charCodeAt(at);
    const piece = code === one || code === other ? pieceAt(at) : undefined;
    if (piece === undefined) {
      units[count] = code;
      starts[count] = at;
      count += 1;
      at += 1;
      continue;
    }
    for (const unit of piece.units) {
      units[count] = unit;
      starts[count] = at;
      count += 1;
    }
    at += piece.length;
  }
  starts[count] = text.length;
  return { units: units.subarray(0, count), starts };
}

/** The value of `count` hexadecimal digits; -1 if they are not all digits. */
function hexAt(text: string, at: number, count: number): number {
  let value = 0;
  for (let index = at; index < at + count; index += 1) {
    const digit = hexDigit(text.charCodeAt(index));
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
