/** Words with the preceding blanks, so that the joined pieces equal the text. */
export function wordPieces(text: string): string[] {
  const pieces: string[] = [];
  let end = 0;
  // The pattern begins with a letter: one that begins with blanks tries each of a long row of them.
  for (const word of text.matchAll(/\S+/g)) {
    const next = word.index + word[0].length;
    pieces.push(text.slice(end, next));
    end = next;
  }
  const trailing = text.slice(end);
  const last = pieces.pop();
  if (last === undefined) return trailing === '' ? [] : [trailing];
  return [...pieces, last + trailing];
}

export function wordCount(text: string): number {
  return text.match(/\S+/g)?.length ?? 0;
}

const lorem = (
  'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore ' +
  'magna aliqua ut enim ad minim veniam quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea commodo ' +
  'consequat duis aute irure dolor in reprehenderit in voluptate velit esse cillum dolore eu fugiat nulla pariatur'
).split(' ');

export function loremPiece(index: number): string {
  const word = lorem[index % lorem.length] ?? 'lorem';
  return index === 0 ? word : ` ${word}`;
}
