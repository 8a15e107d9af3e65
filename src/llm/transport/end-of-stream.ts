import type { ReplyItem } from '../contract.js';
import type { StreamReader } from '../vendor.js';
import type { EventParser } from './event-parser.js';

/**
 * The connection has ended. A last event without its blank line still counts, unless it cannot be read: then it is the
 * torn edge of a stream that was cut, and not nonsense of the vendor's.
 */
export function readEnd(parser: EventParser, reader: StreamReader, out: ReplyItem[]): void {
  if (out.at(-1)?.type === 'failure') return;
  const tail: ReplyItem[] = [];
  parser.end((event) => reader.read(event, tail));
  const last = tail.at(-1);
  const failure = last?.type === 'failure' ? last.error.failure : undefined;
  if (failure !== 'nonsense') for (const item of tail) out.push(item);
  if (failure === undefined || failure === 'nonsense') reader.end(out);
}
