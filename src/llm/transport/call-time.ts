/** The clocks and timers that a call needs, handed in; the runtime's own `Time` has them all. */
export interface CallTime {
  monotonicMs(): number;
  wallMs(): number;
  after(delayMs: number, action: () => void): { cancel(): void };
  /** In a later turn of the event loop, after the data that has arrived by then was read. */
  soon(action: () => void): void;
}
