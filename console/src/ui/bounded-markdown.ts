import { Tokenizer, type Tokens } from 'marked';

/** Deeper nesting is no text of a person, and exhausts the stack at some 1,600 levels. */
const nestingMax = 50;
/** Some 100 ms. A paragraph of 8,000 characters with emphasis and links throughout needs 2,200,000. */
const workMax = (characters: number): number => 3_000_000 + 10 * characters;
/** Such as the line breaks of a long text, of which each costs the same. */
const workOfStep = 20;
/** What may begin a pattern that is searched for to the end of the paragraph. */
const openers = new Set('*_~[!<`');

/** Runs of one line within which the patterns of `marked` take time by the square of their length. */
const runs = [
  { of: /[\t ]+/g, max: 1_000 },
  { of: /[!-/:-@[-`{-~]+/g, max: 500 },
  { of: /[!-~]+/g, max: 4_000 },
] as const;

/**
 * Ends the parsing of a text that nests too deep or takes too much work. Work is counted and not timed: the same text is
 * shown in the same way on each machine. A unit is about a character that a pattern looks at.
 */
class BoundedTokenizer extends Tokenizer {
  #work: number;
  #nesting = 0;

  constructor(characters: number) {
    super();
    this.#work = workMax(characters);
  }

  // The first one that is asked at each step within a paragraph.
  override escape(src: string): Tokens.Escape | undefined {
    this.#spend(openers.has(src[0] ?? '') ? src.length : workOfStep);
    return super.escape(src);
  }

  // Where a reference is used, the whole address is written, however short the reference is.
  override reflink(
    src: string,
    links: Parameters<Tokenizer['reflink']>[1],
  ): ReturnType<Tokenizer['reflink']> {
    const token = super.reflink(src, links);
    if (token !== undefined && 'href' in token) this.#spend(token.href.length + (token.title?.length ?? 0));
    return token;
  }

  // Asked at each line of an item, and reads to the end of the paragraph.
  override lheading(src: string): Tokens.Heading | undefined {
    const end = src.search(/\n[\t ]*\n/);
    this.#spend((end === -1 ? src.length : end) / 5);
    return super.lheading(src);
  }

  // Each row gets as many cells as the header has, however short the row is.
  override table(src: string): Tokens.Table | undefined {
    const [, header, , rows] = this.rules.block.table.exec(src) ?? [];
    if (header !== undefined)
      this.#spend(workOfStep * header.split('|').length * (rows ?? '').split('\n').length);
    return super.table(src);
  }

  override blockquote(src: string): Tokens.Blockquote | undefined {
    return this.#nested(() => super.blockquote(src));
  }

  override list(src: string): Tokens.List | undefined {
    return this.#nested(() => super.list(src));
  }

  #spend(work: number): void {
    this.#work -= work;
    if (this.#work < 0) throw new RangeError('the text takes too much work');
  }

  #nested<Token>(parse: () => Token): Token {
    if (this.#nesting === nestingMax) throw new RangeError('the text nests too deep');
    this.#nesting += 1;
    try {
      return parse();
    } finally {
      this.#nesting -= 1;
    }
  }
}

/**
 * What `parse` makes of a text of a stranger; nothing where the text cannot be parsed in bounded time. It is then to be
 * shown as it is: who writes to a tenant must not be able to hold up or break the page of those who read it.
 */
export function boundedMarkdown<Made>(
  text: string,
  charactersMax: number,
  parse: (tokenizer: Tokenizer) => Made,
): Made | undefined {
  if (text.length > charactersMax) return undefined;
  if (runs.some(({ of, max }) => text.match(of)?.some(({ length }) => length > max))) return undefined;
  try {
    return parse(new BoundedTokenizer(text.length));
  } catch {
    // Whatever is thrown, the text itself can be read.
    return undefined;
  }
}
