import type { SseEvent } from '../vendor.js';

/** Reads the events of a reply from bytes that may be cut anywhere. */
export interface EventParser {
  /** Throws if the bytes cannot be events, or if one is too large. */
  push(chunk: Buffer, onEvent: (event: SseEvent) => void): void;
  /** The connection has ended: delivers a last event that is whole without its end. */
  end(onEvent: (event: SseEvent) => void): void;
}

export class EventTooLargeError extends Error {
  constructor(bytesMax: number) {
    super(`an event of more than ${bytesMax} bytes`);
    this.name = 'EventTooLargeError';
  }
}
