import { UnreadableMail } from './parsed-mail.js';

/** Ordinary mails have some dozens of header lines and a few kilobytes of them. */
const headerBytesMax = 256 * 1024;
const headerLinesMax = 2_000;
/** Attachments, alternatives and forwarded mails. Each part costs objects and streams to read. */
const boundaryLinesMax = 2_000;
/** Newsletters have some thousands. */
const tagsMax = 50_000;
/** Mails that were answered for years nest some hundreds of quotes and tables. */
const depthMax = 1_000;

/**
 * Counts what makes a mail expensive before anything is built of it, in one pass over its bytes. Rejects a mail with
 * too much of it. What encodings hide from the count, the limits on the process's time and memory bound.
 */
export function refuseTooComplex(raw: Buffer): void {
  const text = raw.toString('latin1');
  const head = text.slice(0, endOfHead(text));
  if (head.length > headerBytesMax)
    throw new UnreadableMail(`The header has more than ${headerBytesMax} bytes.`);
  if (countOf(head, /\n/g, headerLinesMax) > headerLinesMax) {
    throw new UnreadableMail(`The header has more than ${headerLinesMax} lines.`);
  }
  if (countOf(text, /^--\S/gm, boundaryLinesMax) > boundaryLinesMax) {
    throw new UnreadableMail(`The mail has more than ${boundaryLinesMax} parts.`);
  }
  refuseManyTags(text);
}

function endOfHead(text: string): number {
  const end = /\r?\n\r?\n/.exec(text);
  return end === null ? text.length : end.index;
}

/** Stops one above the bound. */
function countOf(text: string, pattern: RegExp, bound: number): number {
  let count = 0;
  while (count <= bound && pattern.exec(text) !== null) count += 1;
  return count;
}

/** Of these the end is left out as a rule: the next one, or the end of what is around them, ends them. */
const endedByOthers =
  /^(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|p|li|dt|dd|tr|td|th|thead|tbody|tfoot|option|optgroup|colgroup)$/i;

/** The beginning of a tag; an address in angle brackets is none, and long threads quote many. */
const tag = /<(\/?)([a-z][a-z0-9:-]{0,20})(?![^<>\s]{0,100}@)([^<>]{0,2000}>)?/gi;

function refuseManyTags(text: string): void {
  let tags = 0;
  let depth = 0;
  for (const [, slash, name = '', end] of text.matchAll(tag)) {
    tags += 1;
    if (tags > tagsMax) throw new UnreadableMail(`The mail has more than ${tagsMax} tags.`);
    if (endedByOthers.test(name) || end?.endsWith('/>') === true) continue;
    depth = slash === '' ? depth + 1 : Math.max(0, depth - 1);
    if (depth > depthMax)
      throw new UnreadableMail(`The mail nests more than ${depthMax} tags in one another.`);
  }
}
