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
  return cutText(text, lengthMax - ellipsis.length).trimEnd() + ellipsis;
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
  const parts =
    strategy === 'length'
      ? hardParts(whole, size)
      : strategy === 'sentence'
        ? sentencesOf(whole, size)
        : paragraphsOf(whole, size);
  if (strategy === 'length') return parts;
  const groups = regrouped(parts, size);
  // A text of nothing but white space.
  return groups.length > 0 ? groups : [cutText(whole, size)];
}

/** Each part includes the white space after it, so that joining the parts restores the text. */
function paragraphsOf(text: string, size: number): string[] {
  const ends = [...text.matchAll(/\n[ \t\r]*\n\s*/g)].map(({ index, 0: gap }) => index + gap.length);
  const parts = [...ends, text.length].map((end, index) => text.slice(ends[index - 1] ?? 0, end));
  return parts.flatMap((part) => (part.trimEnd().length <= size ? [part] : sentencesOf(part, size)));
}

const sentences = new Intl.Segmenter('und', { granularity: 'sentence' });
const words = new Intl.Segmenter('und', { granularity: 'word' });

function sentencesOf(text: string, size: number): string[] {
  return [...segmentsOf(sentences, text, size)].flatMap((segment) =>
    segment.trimEnd().length <= size ? [segment] : wordsOf(segment, size),
  );
}

function wordsOf(text: string, size: number): string[] {
  return [...segmentsOf(words, text, size)].flatMap((segment) =>
    segment.length <= size ? [segment] : hardParts(segment, size),
  );
}

/** Each segment of Intl.Segmenter holds a copy of the whole text: 100,000 characters would need gigabytes. */
const windowChars = 256;

/** Segments a text window by window. A segment longer than `size` may come in parts. */
function* segmentsOf(segmenter: Intl.Segmenter, text: string, size: number): Generator<string> {
  let width = windowChars;
  for (let start = 0; start < text.length;) {
    const window = cutText(text.slice(start), width);
    const isLast = start + window.length === text.length;
    const found = Array.from(segmenter.segment(window), ({ segment }) => segment);
    if (!isLast && found.length === 1 && width <= size) {
      width *= 2;
      continue;
    }
    // The last segment may continue in the next window.
    const whole = isLast ? found : found.length === 1 ? [wholeWords(window)] : found.slice(0, -1);
    yield* whole;
    start += whole.reduce((sum, segment) => sum + segment.length, 0);
    width = windowChars;
  }
}

function wholeWords(text: string): string {
  const space = text.lastIndexOf(' ');
  return space === -1 ? text : text.slice(0, space + 1);
}

function hardParts(text: string, size: number): string[] {
  const parts: string[] = [];
  for (let start = 0; start < text.length; start += parts.at(-1)?.length ?? text.length) {
    parts.push(cutText(text.slice(start), size));
  }
  return parts;
}

function regrouped(parts: readonly string[], size: number): string[] {
  const groups: string[] = [];
  let group = '';
  for (const part of parts) {
    const isLonger = group.length + part.length > size;
    if (group !== '' && isLonger && (group + part).trimEnd().length > size) {
      groups.push(group.trimEnd());
      group = '';
    }
    group = group === '' ? part.replace(/^\s+/, '') : group + part;
  }
  groups.push(group.trimEnd());
  return groups.filter((one) => one !== '');
}
