import type { TemplatedApp } from 'uWebSockets.js';
import { kernelConnections } from './kernel-connections.js';
import type { Peer, PeerReader } from './peers.js';

export interface ConnectionBounds {
  readonly perAddress: number;
  readonly perNode: number;
}

/** Reading the kernel's table takes some milliseconds where it is long. */
const recountMsMin = 250;

/**
 * Counts the open connections of this node and of each address (of each /64 in IPv6), and closes what comes beyond the
 * bounds before a byte of it is read. Those of trusted proxies count for the node alone.
 *
 * The native side tells of each connection that opens and of each that closes, but of a closed one no longer whose it
 * was. That is known where the connection had no request yet, or one without its answer. Where it closes between two
 * requests it stays in the count of its address, and the counts of all addresses are together higher than the number of
 * connections. An address is then refused only when it is over its bound even if the whole difference were its own, and
 * where the kernel lists the connections, the counts are set right by that list.
 */
export class Connections {
  readonly #bounds: ConnectionBounds;
  readonly #peers: PeerReader;
  readonly #listPeers: (port: number) => Promise<ReadonlyMap<Peer, number> | undefined>;
  readonly #open = new Map<Peer, number>();
  /** The sum of the above. */
  #counted = 0;
  #total = 0;
  #refused = 0;
  #port = 0;
  #recountAt = 0;

  constructor(bounds: ConnectionBounds, peers: PeerReader, listPeers = kernelConnections) {
    this.#bounds = bounds;
    this.#peers = peers;
    this.#listPeers = listPeers;
  }

  /** WebSockets included. */
  get size(): number {
    return this.#total;
  }

  /** Since the start. */
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
        // Its first request sets a listener of its own in place of this one.
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

  /** The connection whose end was told last was this peer's. */
  closedBy(peer: Peer): void {
    this.#count(peer, -1);
  }

  /** Once a connection is a WebSocket, the native side does not tell of its end as it does of others. */
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
    // The one that is asked about is among the total already.
    const overcounted = Math.max(0, this.#counted - (this.#total - 1));
    if (overcounted > 0) this.#recount();
    return open - overcounted < this.#bounds.perAddress;
  }

  /** Meanwhile connections come and go, so the list is off by a few; the next recount sets that right. */
  #recount(): void {
    const now = performance.now();
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
