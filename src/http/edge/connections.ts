import type { TemplatedApp } from 'uWebSockets.js';
import type { Time } from '../../../cluster/index.js';
import { kernelConnections } from './kernel-connections.js';
import type { Peer, PeerReader } from './peers.js';

export interface ConnectionBounds {
  readonly perAddress: number;
  readonly perNode: number;
}

/** Reading a long kernel table takes some milliseconds. */
const recountMsMin = 250;

/**
 * Counts the open connections of this node and of each address (of each /64 in IPv6), and closes connections beyond the
 * limits before reading a byte. Connections of trusted proxies count only for the node.
 *
 * The native side reports every opened and closed connection, but not the address of a closed one. The address is known
 * if the connection had no request yet, or one without an answer. A connection that closes between two requests stays in
 * the count of its address, so the sum of the address counts can exceed the number of connections. An address is
 * therefore refused only if it is over its limit even when the whole difference is its own; and on systems where the
 * kernel lists connections, that list corrects the counts.
 */
export class Connections {
  readonly #bounds: ConnectionBounds;
  readonly #peers: PeerReader;
  readonly #time: Pick<Time, 'monotonicMs'>;
  readonly #listPeers: (port: number) => Promise<ReadonlyMap<Peer, number> | undefined>;
  readonly #open = new Map<Peer, number>();
  /** The sum of all counts in `#open`. */
  #counted = 0;
  #total = 0;
  #refused = 0;
  #port = 0;
  #recountAt = 0;

  constructor(
    bounds: ConnectionBounds,
    peers: PeerReader,
    time: Pick<Time, 'monotonicMs'>,
    listPeers = kernelConnections,
  ) {
    this.#time = time;
    this.#bounds = bounds;
    this.#peers = peers;
    this.#listPeers = listPeers;
  }

  /** Includes WebSockets. */
  get size(): number {
    return this.#total;
  }

  /** The number of refused connections since the start. */
  get refused(): number {
    return this.#refused;
  }

  watch(app: TemplatedApp): void {
    app.filter((response, change) => {
      this.#total += change;
      if (change < 0) return;
      const native = response.getRemoteAddress();
      const peer = this.#peers.read(native);
      if (this.#admits(peer, native)) {
        this.#count(peer, 1);
        // The first request replaces this listener with its own.
        response.onAborted(() => this.closedBy(peer));
      } else {
        this.#refused += 1;
        response.close();
      }
    });
  }

  listensOn(port: number): void {
    this.#port = port;
  }

  /** The most recently closed connection belonged to this peer. */
  closedBy(peer: Peer): void {
    this.#count(peer, -1);
  }

  /** The native side does not report the end of a WebSocket the way it reports other connections. */
  socketClosed(peer: Peer): void {
    this.#total -= 1;
    this.#count(peer, -1);
  }

  #count(peer: Peer, change: number): void {
    const before = this.#open.get(peer) ?? 0;
    const after = Math.max(0, before + change);
    this.#counted += after - before;
    if (after === 0) this.#open.delete(peer);
    else this.#open.set(peer, after);
  }

  #admits(peer: Peer, native: ArrayBuffer): boolean {
    if (this.#total > this.#bounds.perNode) return false;
    const open = this.#open.get(peer) ?? 0;
    if (open < this.#bounds.perAddress || this.#peers.isProxy(native)) return true;
    // The connection in question is already part of the total.
    const overcounted = Math.max(0, this.#counted - (this.#total - 1));
    if (overcounted > 0) this.#recount();
    return open - overcounted < this.#bounds.perAddress;
  }

  /** Connections open and close during the read, so the list is off by a few; the next recount corrects that. */
  #recount(): void {
    const now = this.#time.monotonicMs();
    if (now < this.#recountAt) return;
    this.#recountAt = now + recountMsMin;
    void this.#listPeers(this.#port).then((listed) => {
      if (listed === undefined) return;
      this.#open.clear();
      this.#counted = 0;
      for (const [peer, count] of listed) this.#count(peer, count);
    });
  }
}
