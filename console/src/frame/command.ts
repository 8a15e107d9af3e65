/** One entry of the palette: it leads to an address, or does something. */
export interface Command {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  readonly detail?: string;
  readonly path?: string;
  readonly act?: () => void;
  /** Further words under which it is found. */
  readonly words?: string;
}

/** Every word that was written is the beginning of a word of the entry, or part of it from three letters on. */
export function matches({ title, detail = '', words = '', kind }: Command, text: string): boolean {
  const known = `${title} ${detail} ${words} ${kind}`.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    .every(
      (word) =>
        known.split(/[^\p{L}\p{N}]+/u).some((one) => one.startsWith(word)) ||
        (word.length > 2 && known.includes(word)),
    );
}
