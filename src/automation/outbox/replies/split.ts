import type { SplitConfig } from '../../triggers/config/webhook-config.js';
import { cutText } from '../../triggers/mapped-context.js';

export interface SplitAnswer {
  readonly chunks: readonly string[];
  /** True if text beyond the last chunk was dropped. */
  readonly truncated: boolean;
}

const ellipsis = '…';

/**
 * Splits an answer into pieces of at most `max_chunk_size` characters, `(i/N)` included. Pieces end at paragraph or
 * sentence ends if possible, and small ones are merged. There is at least one. An answer that is not split is cut where
 * its receiver would refuse it.
 */
export function splitAnswer(text: string, config: SplitConfig): SplitAnswer {
  if (!config.enabled) return unsplit(text, config.text_max ?? Infinity);
  if (text.length <= config.max_chunk_size) return { chunks: [text], truncated: false };
  const all = pieces(text, config);
  const truncated = all.length > config.max_chunks;
  const kept = all.slice(0, config.max_chunks);
  const room = config.max_chunk_size - prefixLength(kept.length, config);
  const chunks = kept.map((piece, index) => {
    const isCut = truncated && index === kept.length - 1;
    const shown = isCut ? shortened(piece, room) : piece;
    return config.numbering && kept.length > 1 ? `(${index + 1}/${kept.length})\n${shown}` : shown;
  });
  return { chunks, truncated };
}

function unsplit(text: string, lengthMax: number): SplitAnswer {
  if (text.length <= lengthMax) return { chunks: [text], truncated: false };
  return { chunks: [shortened(text, lengthMax)], truncated: true };
}

function shortened(text: string, lengthMax: number): string {
  return cutPiece(text, lengthMax - ellipsis.length).trimEnd() + ellipsis;
}

/** The number of pieces decides how long their prefixes are, and so how much text fits. */
function pieces(text: string, config: SplitConfig): readonly string[] {
  if (config.max_chunks === 1) return piecesOf(text, config, config.max_chunk_size);
  const short = piecesOf(text, config, config.max_chunk_size - prefixLength(9, config));
  if (Math.min(short.length, config.max_chunks) <= 9) return short;
  return piecesOf(text, config, config.max_chunk_size - prefixLength(10, config));
}

function prefixLength(count: number, { numbering }: SplitConfig): number {
  const digits = String(count).length;
  return numbering && count > 1 ? '(/)\n'.length + 2 * digits : 0;
}

function piecesOf(
  text: string,
  { chunk_strategy: strategy, max_chunks }: SplitConfig,
  size: number,
): string[] {
  // One more piece than may be sent shows that text is dropped; the rest of a huge answer is not scanned.
  const whole = cutText(text, size * (max_chunks + 1) * 2);
  if (strategy === 'length') return hardParts(whole, size);
  const parts = strategy === 'sentence' ? sentencesOf(whole, size) : paragraphsOf(whole, size);
  const groups = regrouped(parts, size);
  // A text of nothing but white space.
  return groups.length > 0 ? groups : [cutText(whole, size)];
}

/** Each part includes the white space after it, so that joining the parts restores the text. */
function* paragraphsOf(text: string, size: number): Generator<string> {
  const ends = [...text.matchAll(/\n[ \t\r]*\n\s*/g)].map(({ index, 0: gap }) => index + gap.length);
  let start = 0;
  for (const end of [...ends, text.length]) {
    const part = text.slice(start, end);
    if (part.trimEnd().length <= size) yield part;
    else yield* sentencesOf(part, size);
    start = end;
  }
}

const sentences = new Intl.Segmenter('und', { granularity: 'sentence' });
const words = new Intl.Segmenter('und', { granularity: 'word' });
const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

/**
 * Base64, addresses and tokens: the signs in them end no words. The character beside another script is left out, since
 * a mark may belong to it.
 */
const unbroken = /(?<!\P{ASCII})[!-~]+(?!\P{ASCII})/gu;

/** An unbroken run that no piece can hold is a part by itself. */
function* sentencesOf(text: string, size: number): Generator<string> {
  let start = 0;
  for (const { index, 0: run } of text.matchAll(unbroken)) {
    if (run.length <= size) continue;
    yield* sentencesWithin(text.slice(start, index), size);
    yield run;
    start = index + run.length;
  }
  yield* sentencesWithin(text.slice(start), size);
}

function* sentencesWithin(text: string, size: number): Generator<string> {
  for (const segment of segmentsOf(sentences, text)) {
    if (segment.trimEnd().length <= size) yield segment;
    else yield* segmentsOf(words, segment);
  }
}

/** Each segment of Intl.Segmenter holds a copy of the whole text: 100,000 characters would need gigabytes. */
const windowChars = 256;

/** Segments a text window by window. */
function* segmentsOf(segmenter: Intl.Segmenter, text: string): Generator<string> {
  for (let start = 0; start < text.length;) {
    const window = cutText(text.slice(start), windowChars);
    const isLast = start + window.length === text.length;
    const found = Array.from(segmenter.segment(window), ({ segment }) => segment);
    // The last segment may continue in the next window.
    const whole = isLast
      ? found
      : found.length > 1
        ? found.slice(0, -1)
        : [longSegment(segmenter, text.slice(start))];
    yield* whole;
    start += whole.reduce((sum, segment) => sum + segment.length, 0);
  }
}

/** The first segment, which is longer than a window. The width doubles, so that the time stays linear. */
function longSegment(segmenter: Intl.Segmenter, text: string): string {
  for (let width = windowChars * 2; width < text.length; width *= 2) {
    const length = segmenter.segment(text.slice(0, width)).containing(0)?.segment.length ?? width;
    if (length < width - 1) return text.slice(0, length);
  }
  return segmenter.segment(text).containing(0)?.segment ?? text;
}

function hardParts(text: string, size: number): string[] {
  const parts: string[] = [];
  for (let start = 0; start < text.length; start += parts.at(-1)?.length ?? text.length) {
    parts.push(cutPiece(text.slice(start), size));
  }
  return parts;
}

/** Joins parts to pieces. A part that no piece can hold is cut anyway: its head fills the piece before it. */
function regrouped(parts: Iterable<string>, size: number): string[] {
  const groups: string[] = [];
  let group = '';
  for (const part of parts) {
    const length = part.trimEnd().length;
    if (length === 0 || group.length + length <= size) {
      group = group === '' ? part.trimStart() : group + part;
    } else if (length <= size) {
      groups.push(group.trimEnd());
      group = part.trimStart();
    } else {
      const head = cutCharacters(part, size - group.length);
      groups.push((group + head).trimEnd(), ...hardParts(part.slice(head.length), size));
      group = groups.pop() ?? '';
    }
  }
  groups.push(group.trimEnd());
  return groups.filter((one) => one !== '');
}

/** As `cutCharacters`, but cuts inside the first character if it is longer than the piece. */
function cutPiece(text: string, lengthMax: number): string {
  return cutCharacters(text, lengthMax) || cutText(text, lengthMax);
}

/** The beginning of the text with whole characters as people see them. */
function cutCharacters(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  if (lengthMax <= 0) return '';
  // Whether a character ends here depends on the next code point.
  const around = graphemes.segment(text.slice(0, lengthMax + 2));
  return text.slice(0, around.containing(lengthMax)?.index ?? lengthMax);
}
