/** Limits on the resources of this node that unauthenticated clients can use. */
export interface EdgeBounds {
  readonly connectionsPerAddress: number;
  readonly connections: number;
  /** Bytes of request bodies held at once for one client address. */
  readonly bodyBytesPerAddress: number;
  readonly bodyBytes: number;
  /** Bytes of large answers that the clients of one address have not taken yet. */
  readonly answerBytesPerAddress: number;
  readonly answerBytes: number;
}

export const defaultBounds: EdgeBounds = {
  /** A whole office behind one address, or a customer's backend with as many open streams, stays below this. */
  connectionsPerAddress: 1_000,
  /** About 10 KB each: 200 MB of idle connections. */
  connections: 20_000,
  /** Three of the largest bodies that any operation accepts. */
  bodyBytesPerAddress: 64 * 1024 * 1024,
  /** A small node can spare this much besides its work. */
  bodyBytes: 256 * 1024 * 1024,
  answerBytesPerAddress: 64 * 1024 * 1024,
  answerBytes: 256 * 1024 * 1024,
};
