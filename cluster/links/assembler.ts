import { ClusterError } from '../errors.js';

/** Memory cost of a part besides its bytes, so that many tiny parts and endless bodies count too. */
const partOverheadBytes = 256;

export interface AssemblerLimits {
  /** Limit of one body. */
  readonly messageBytesMax: number;
  /** Limit of all incomplete bodies together. */
  readonly bytesMax: number;
}

interface Entry<First> {
  readonly first: First;
  readonly parts: Uint8Array[];
  bytes: number;
  cost: number;
}

/** Reassembles long bodies from their chunks, per call and within the limits. */
export class Assembler<First> {
  readonly #entries = new Map<number, Entry<First>>();
  readonly #limits: AssemblerLimits;
  #cost = 0;

  constructor(limits: AssemblerLimits) {
    this.#limits = limits;
  }

  /** Memory of all incomplete bodies. */
  get cost(): number {
    return this.#cost;
  }

  begin(id: number, first: First, body: Uint8Array): void {
    if (this.#entries.has(id))
      throw new ClusterError('protocol_violation', `call ${id} sent two bodies at once`);
    const entry: Entry<First> = { first, parts: [], bytes: 0, cost: 0 };
    this.#entries.set(id, entry);
    this.#take(entry, body);
  }

  /** Returns the first frame and the whole body after the last chunk. Ignores chunks of forgotten calls. */
  add(id: number, body: Uint8Array, more: boolean): { first: First; body: Uint8Array } | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    this.#take(entry, body);
    if (more) return undefined;
    this.forget(id);
    return { first: entry.first, body: Buffer.concat(entry.parts, entry.bytes) };
  }

  forget(id: number): void {
    if (this.#entries.size === 0) return;
    this.#cost -= this.#entries.get(id)?.cost ?? 0;
    this.#entries.delete(id);
  }

  #take(entry: Entry<First>, body: Uint8Array): void {
    const { messageBytesMax, bytesMax } = this.#limits;
    const cost = body.length + partOverheadBytes;
    entry.bytes += body.length;
    entry.cost += cost;
    this.#cost += cost;
    if (entry.bytes > messageBytesMax) {
      throw new ClusterError('message_too_large', `a message exceeds ${messageBytesMax} bytes`);
    }
    if (this.#cost > bytesMax) {
      throw new ClusterError('message_too_large', `incomplete messages exceed ${bytesMax} bytes in total`);
    }
    entry.parts.push(body);
  }
}
