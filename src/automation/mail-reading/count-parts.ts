import { UnreadableMail } from './parsed-mail.js';

/** Ordinary mails have a few dozen header lines of a few kilobytes. */
const headerBytesMax = 256 * 1024;
const headerLinesMax = 2_000;
/** Attachments, alternatives and forwarded mails. Each part costs objects and streams to read. */
const boundaryLinesMax = 2_000;
/** Newsletters have a few thousand. */
const tagsMax = 50_000;
/** Mails of year-long threads nest a few hundred quotes and tables. */
const depthMax = 1_000;

/**
 * Counts what makes a mail expensive in one pass over its bytes, before anything is parsed, and rejects a mail with too
 * much of it. What encodings hide from the count is bounded by the time and memory of the process.
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

/** Elements whose end tag is usually omitted: the next one, or the end of the parent, closes them. */
const endedByOthers =
  /^(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|p|li|dt|dd|tr|td|th|thead|tbody|tfoot|option|optgroup|colgroup)$/i;

/** The start of a tag; an address in angle brackets is not one, and long threads quote many. */
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
