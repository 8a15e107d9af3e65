import type { ReplyItem } from '../contract.js';
import { parseJson } from '../reply-json.js';
import type { VendorAdapter } from '../vendor.js';

/** A usage has a few hundred bytes. */
const memberBytesMax = 64 * 1024;

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;

/** What the vendor bills for a whole reply that has too many values to be read. */
export function usageInLarge(adapter: VendorAdapter, reply: Buffer): readonly ReplyItem[] {
  const items: ReplyItem[] = [];
  adapter.fromReply(parseJson(shortMembers(reply)), items);
  return items.filter(({ type }) => type === 'usage');
}

/** The short members of the outermost object, as JSON: in one pass over the bytes, building nothing of the others. */
export function shortMembers(reply: Buffer): string {
  const kept: string[] = [];
  let depth = 0;
  let inString = false;
  let from = 0;
  for (let at = 0; at < reply.length; at += 1) {
    const byte = reply[at] as number;
    if (inString) {
      if (byte === backslash) at += 1;
      else if (byte === quote) inString = false;
      continue;
    }
    const isEnd = isClosing(byte) && depth === 1;
    if (isEnd || (byte === comma && depth === 1)) {
      if (at - from <= memberBytesMax) kept.push(reply.toString('utf8', from, at));
      from = at + 1;
    }
    if (byte === quote) inString = true;
    else if (isClosing(byte)) depth -= 1;
    else if (isOpening(byte)) {
      depth += 1;
      if (depth === 1) from = at + 1;
    }
  }
  return `{${kept.join(',')}}`;
}

/** `{` and `[`, `}` and `]` differ in one bit. */
function isOpening(byte: number): boolean {
  return (byte | 0x20) === 0x7b;
}

function isClosing(byte: number): boolean {
  return (byte | 0x20) === 0x7d;
}
