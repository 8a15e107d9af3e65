/** Words with the preceding blanks, so that the joined pieces equal the text; made one by one, since a text may be long. */
export function* wordPieces(text: string): Generator<string, undefined, undefined> {
  let piece: string | undefined;
  let end = 0;
  // The pattern begins with a letter: one that begins with blanks tries each of a long row of them.
  for (const word of text.matchAll(/\S+/g)) {
    if (piece !== undefined) yield piece;
    const next = word.index + word[0].length;
    piece = text.slice(end, next);
    end = next;
  }
  const last = (piece ?? '') + text.slice(end);
  if (last !== '') yield last;
}

/** A list of the words of a long text would take a hundred times as long. */
export function wordCount(text: string): number {
  let count = 0;
  let inWord = false;
  for (let at = 0; at < text.length; at += 1) {
    const blank = isBlank(text.charCodeAt(at));
    if (!blank && !inWord) count += 1;
    inWord = !blank;
  }
  return count;
}

/** As `\s` of a pattern. */
function isBlank(code: number): boolean {
  if (code <= 0x20) return code === 0x20 || (code >= 0x09 && code <= 0x0d);
  return code >= 0xa0 && rareBlanks.has(code);
}

const rareBlanks: ReadonlySet<number> = new Set([
  0xa0,
  0x1680,
  0x2028,
  0x2029,
  0x202f,
  0x205f,
  0x3000,
  0xfeff,
  ...Array.from({ length: 11 }, (_, nth) => 0x2000 + nth),
]);

const lorem = (
  'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore ' +
  'magna aliqua ut enim ad minim veniam quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea commodo ' +
  'consequat duis aute irure dolor in reprehenderit in voluptate velit esse cillum dolore eu fugiat nulla pariatur'
).split(' ');

export function loremPiece(index: number): string {
  const word = lorem[index % lorem.length] ?? 'lorem';
  return index === 0 ? word : ` ${word}`;
}
