import { crc32 } from 'node:zlib';
import { EventStreamCodec } from '@smithy/eventstream-codec';
import type { SseEvent } from '../vendor.js';
import { eventTooLarge, type EventParser } from './event-parser.js';

export const eventStreamType = 'application/vnd.amazon.eventstream';

/** Every message begins with its length and that of its headers; a checksum of the two follows. */
const lengthBytes = 8;
const beginningBytes = lengthBytes + 4;
/** Lengths, checksums: the smallest message. */
const messageBytesMin = 16;

const decoder = new TextDecoder();
const encoder = new TextEncoder();
const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === 'string' ? bytes : decoder.decode(bytes)),
  (text) => encoder.encode(text),
);

/**
 * Amazon's event stream from bytes that may be cut anywhere: binary messages with a length, headers, a body and two
 * checksums. Events get the name of their type, exceptions that of theirs. A message that was cut off at the end of the
 * stream is dropped: the reader reports that the answer is not complete.
 */
export class EventStreamParser implements EventParser {
  readonly #eventBytesMax: number;
  #rest: Buffer = Buffer.alloc(0);

  constructor(eventBytesMax: number) {
    this.#eventBytesMax = eventBytesMax;
  }

  push(chunk: Buffer, onEvent: (event: SseEvent) => void): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (bytes.length >= beginningBytes) {
      const length = bytes.readUInt32BE(0);
      const isTooLarge = length > this.#eventBytesMax;
      if (isTooLarge && isBeginning(bytes)) throw eventTooLarge(this.#eventBytesMax);
      if (isTooLarge || length < messageBytesMin) throw new Error(`an event of ${length} bytes`);
      if (bytes.length < length) break;
      onEvent(eventOf(bytes.subarray(0, length)));
      bytes = bytes.subarray(length);
    }
    this.#rest = bytes;
  }

  end(): void {
    this.#rest = Buffer.alloc(0);
  }
}

/** The first bytes of anything else say a length too. */
function isBeginning(bytes: Buffer): boolean {
  return crc32(bytes.subarray(0, lengthBytes)) === bytes.readUInt32BE(lengthBytes);
}

function eventOf(message: Buffer): SseEvent {
  const { headers, body } = codec.decode(message);
  const header = (name: string): string => {
    const value = headers[name]?.value;
    return typeof value === 'string' ? value : '';
  };
  const name = header(':exception-type') || header(':error-code') || header(':event-type');
  return { event: name, data: decoder.decode(body) };
}
