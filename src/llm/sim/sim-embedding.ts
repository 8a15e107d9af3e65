import type { CatalogueModel } from '../catalogue/model.js';
import type { EmbeddingRequest, ReplyItem } from '../contract.js';
import { vectorToBase64 } from '../embedding.js';
import type { ClockLimits } from '../transport/attempt-clocks.js';
import { AttemptFeed, type Attempt } from '../transport/attempt-feed.js';
import type { CallTime } from '../transport/call-time.js';
import { zeroUsage } from '../usage.js';
import { wordCount } from './words.js';

const dimensionsByDefault = 256;
/** A word adds to this many numbers, so that two words rarely have the same vector. */
const numbersPerWord = 4;
/** Numbers that are made or changed before the process does other work: these take a few milliseconds. */
const numbersAtOnce = 16_384;

/**
 * Vectors without a network: the same text has the same vector on every node, and texts that share words are near to each
 * other, so that a search can be tried.
 */
export function openSimEmbedding(
  { inputs, dimensions, encoding }: EmbeddingRequest,
  model: Pick<CatalogueModel, 'dimensions'>,
  { time, clocks }: { readonly time: CallTime; readonly clocks: ClockLimits },
): Attempt {
  const feed = new AttemptFeed({ vendor: 'sim', time, clocks });
  feed.facts.sent = true;
  feed.facts.accepted = true;
  const length = dimensions ?? model.dimensions ?? dimensionsByDefault;
  const making = made({ inputs, encoding }, length);
  const go = (): void => {
    if (feed.ended) return;
    const next = making.next();
    if (next.done !== true) {
      time.soon(go);
      return;
    }
    feed.accept(0, (out) => {
      for (const item of next.value) out.push(item);
    });
    feed.finish();
  };
  go();
  return feed;
}

/** Yields where the process is to do other work before this goes on. */
function* made(
  { inputs, encoding }: Pick<EmbeddingRequest, 'inputs' | 'encoding'>,
  length: number,
): Generator<undefined, readonly ReplyItem[], undefined> {
  const items: ReplyItem[] = [];
  let words = 0;
  let worked = 0;
  for (const [index, input] of inputs.entries()) {
    words += typeof input === 'string' ? wordCount(input) : input.length;
    const sums = new Float64Array(length);
    for (const word of wordsOf(input)) {
      addWord(sums, word);
      worked += numbersPerWord;
      if (worked < numbersAtOnce) continue;
      worked = 0;
      yield;
    }
    worked += length;
    const numbers = normed(sums);
    const vector = encoding === 'base64' ? vectorToBase64(numbers) : numbers;
    items.push({ type: 'embedding', index, vector });
  }
  const usage = { ...zeroUsage, inputUncached: words, raw: { input_words: words } };
  items.push({ type: 'usage', usage }, { type: 'stop', reason: 'stop', raw: 'stop' });
  return items;
}

function* wordsOf(input: string | readonly number[]): Generator<string, undefined, undefined> {
  if (typeof input !== 'string') {
    for (const token of input) yield String(token);
    return;
  }
  let isEmpty = true;
  for (const [word] of input.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    isEmpty = false;
    yield word;
  }
  if (isEmpty) yield input;
}

function addWord(sums: Float64Array, word: string): void {
  for (let nth = 0; nth < numbersPerWord; nth += 1) {
    const hash = hashOf(word, nth);
    const at = hash % sums.length;
    sums[at] = (sums[at] ?? 0) + ((hash & 0x4000_0000) === 0 ? 1 : -1) * (1 + nth / numbersPerWord);
  }
}

/** Of length 1, in numbers that 32 bits can hold. */
function normed(sums: Float64Array): readonly number[] {
  let squares = 0;
  for (const sum of sums) squares += sum * sum;
  // All words cancelled each other out.
  if (squares === 0) sums[0] = 1;
  const norm = squares === 0 ? 1 : Math.sqrt(squares);
  return Array.from(sums, (sum) => Math.fround(sum / norm));
}

/** FNV-1a over the characters, then mixed, since the lowest bits of short words differ too little. */
function hashOf(word: string, nth: number): number {
  let hash = 0x811c_9dc5 ^ nth;
  for (let at = 0; at < word.length; at += 1) hash = Math.imul(hash ^ word.charCodeAt(at), 0x0100_0193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 1;
}
