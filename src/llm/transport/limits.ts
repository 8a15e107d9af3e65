/** Bounds on a vendor's reply. A larger reply is refused instead of filling the memory. */
export const transportLimits = {
  /** One event; vendors that send a picture inline need a few megabytes. */
  eventBytesMax: 8 * 1024 * 1024,
  /** A whole reply that is not streamed. 2,048 vectors of 3,072 numbers in base64 have 32 MiB and their frame. */
  replyBytesMax: 40 * 1024 * 1024,
  /** The bytes of one whole stream. */
  streamBytesMax: 256 * 1024 * 1024,
  /** Only the beginning of an error reply is kept. */
  errorBytesMax: 64 * 1024,
  /** The bytes that may wait for a slow reader before the vendor's socket is paused. */
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
