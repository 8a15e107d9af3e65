/**
 * Most pieces of a streamed answer differ from the one before in a single text. Once a piece was parsed in full, what
 * stands before and after that text is remembered; a following piece with the very same surroundings is the same
 * object with another text, and need not be parsed. That saves nine tenths of the reading of a long answer.
 *
 * Only texts without escapes qualify: nothing between their quotes can end the text early.
 */
export class TextEnvelope {
  readonly #field: string;
  #prefix = '';
  #suffix = '';

  /** `field`: the name before the text. */
  constructor(field: string) {
    this.#field = `"${field}":`;
  }

  /** The text, if the piece has the remembered surroundings. */
  open(piece: string): string | undefined {
    const { length } = this.#prefix;
    if (length === 0 || !piece.startsWith(this.#prefix) || !piece.endsWith(this.#suffix)) return undefined;
    const end = piece.length - this.#suffix.length;
    // The suffix begins with the closing quote, so the first quote after the prefix has to be that one.
    if (end < length || piece.indexOf('"', length) !== end) return undefined;
    const text = piece.slice(length, end);
    return text.includes('\\') ? undefined : text;
  }

  /** Remembers the surroundings of `text` in a piece in which only the text is new. */
  learn(piece: string, text: string): void {
    this.#prefix = '';
    const literal = `"${text}"`;
    if (JSON.stringify(text) !== literal) return;
    for (const field of [this.#field, `${this.#field} `]) {
      const at = piece.indexOf(field + literal);
      if (at === -1) continue;
      // If the text occurs twice, the position of the answer is ambiguous.
      if (piece.indexOf(field + literal, at + 1) !== -1) return;
      const start = at + field.length + 1;
      this.#prefix = piece.slice(0, start);
      this.#suffix = piece.slice(start + text.length);
      return;
    }
  }
}
