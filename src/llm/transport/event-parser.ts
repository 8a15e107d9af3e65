import type { SseEvent } from '../vendor.js';
import { TooLargeError } from '../vendor-error.js';

/** Reads the events of a reply from bytes that may be cut anywhere. */
export interface EventParser {
  /** Throws if the bytes cannot be events, or if one is too large. */
  push(chunk: Buffer, onEvent: (event: SseEvent) => void): void;
  /** The connection has ended: delivers a last event that is whole without its end. */
  end(onEvent: (event: SseEvent) => void): void;
}

export function eventTooLarge(bytesMax: number): TooLargeError {
  return new TooLargeError(`an event of more than ${bytesMax} bytes`);
}
