/** What strangers may take of this node. */
export interface EdgeBounds {
  readonly connectionsPerAddress: number;
  readonly connections: number;
  /** Of request bodies, held at one time for one client address. */
  readonly bodyBytesPerAddress: number;
  readonly bodyBytes: number;
}

export const defaultBounds: EdgeBounds = {
  /** A whole office behind one address, or a customer's backend with as many streams open, stays below it. */
  connectionsPerAddress: 1_000,
  /** At some 10 KB each, 200 MB when nobody does anything with them. */
  connections: 20_000,
  /** Three of the largest bodies that any operation takes. */
  bodyBytesPerAddress: 64 * 1024 * 1024,
  /** What a small node can spare beside its work. */
  bodyBytes: 256 * 1024 * 1024,
};
