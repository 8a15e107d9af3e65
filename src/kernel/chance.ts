import type { Random } from '../../cluster/index.js';

/** Makes the ids of rows, messages and claims. */
export interface Ids {
  uuid(): string;
}

/** The runtime's source of chance, and bytes for keys and tokens. */
export interface SecureRandom extends Random {
  /** Unpredictable bytes (in a test: whatever it hands in). */
  bytes(count: number): Uint8Array;
}
