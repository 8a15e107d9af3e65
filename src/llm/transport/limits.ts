/** Bounds on what comes from a vendor. A reply beyond them is nonsense, not a reason to run out of memory. */
export const transportLimits = {
  /** One event; vendors that send a picture inline need a few megabytes. */
  eventBytesMax: 8 * 1024 * 1024,
  /** A whole reply that is not streamed. */
  replyBytesMax: 32 * 1024 * 1024,
  /** Everything that one stream may bring. */
  streamBytesMax: 256 * 1024 * 1024,
  /** Of an error only the beginning is kept. */
  errorBytesMax: 64 * 1024,
  /** What may wait for a slow reader before the vendor's socket is no longer read. */
  backlogBytesMax: 256 * 1024,
  connectTimeoutMs: 10_000,
  /**
   * Shorter than what the vendors' front servers allow (60 s and more), so that a connection is rarely closed by the
   * other side in the moment of its next use.
   */
  keepAliveMs: 20_000,
  connectionsPerPoolMax: 1024,
  /** A pool per origin and credential; tenants' own keys make many, and idle ones are closed from the oldest. */
  poolsMax: 512,
} as const;
