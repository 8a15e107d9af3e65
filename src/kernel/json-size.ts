/** No honest body is nested deeper, and recursion can handle far more. */
export const depthMax = 64;

/**
 * Maximum of keys, list elements and containers in one body. `JSON.parse`, the walk for forbidden names and the schema
 * check together take about 60 ms for this many on a slow core, and 1.5 s and more for a million; all of it blocks the
 * event loop. The largest honest bodies (long conversations with many tools) have a few thousand.
 */
export const valuesMax = 50_000;

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;

/**
 * Counts depth and values of a JSON text over its bytes as they arrive, in one pass without memory, so that an oversized
 * body is refused before anything is built from it. The text need not be valid JSON; `JSON.parse` checks that.
 */
export class JsonSize {
  readonly #valuesMax: number;
  #depth = 0;
  #values = 0;
  #inString = false;
  #escaped = false;

  /** A bound of its own is for long lists of numbers, which cost least. */
  constructor(most = valuesMax) {
    this.#valuesMax = most;
  }

  /** Counts a separate text: depth and string state start anew, the count of values continues. */
  addText(text: string): string | undefined {
    this.#depth = 0;
    this.#inString = false;
    this.#escaped = false;
    return this.add(Buffer.from(text));
  }

  /** Counts the next bytes; returns the problem of the text so far, if any. */
  add(bytes: Uint8Array): string | undefined {
    let depth = this.#depth;
    let values = this.#values;
    let inString = this.#inString;
    let at = 0;
    if (this.#escaped && bytes.length > 0) {
      this.#escaped = false;
      at = 1;
    }
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (inString) {
        if (byte === quote) inString = false;
        else if (byte === backslash) {
          at += 1;
          this.#escaped = at === bytes.length;
        }
      } else if (byte === quote) inString = true;
      else if (byte === comma) values += 1;
      // `{` and `[`, `}` and `]` differ in one bit.
      else if ((byte | 0x20) === 0x7b) {
        values += 1;
        depth += 1;
        if (depth > depthMax) return `The body is nested deeper than ${depthMax} levels.`;
      } else if ((byte | 0x20) === 0x7d) depth -= 1;
    }
    this.#depth = depth;
    this.#values = values;
    this.#inString = inString;
    return values > this.#valuesMax
      ? `The body has more than ${this.#valuesMax} keys and list elements.`
      : undefined;
  }
}
