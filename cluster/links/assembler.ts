import { ClusterError } from '../errors.js';

/** What a part costs in memory besides its bytes: many tiny ones, or bodies that never end, count as well. */
const partOverheadBytes = 256;

export interface AssemblerLimits {
  /** One body. */
  readonly messageBytesMax: number;
  /** All bodies that are not whole yet. */
  readonly bytesMax: number;
}

interface Entry<First> {
  readonly first: First;
  readonly parts: Uint8Array[];
  bytes: number;
  cost: number;
}

/** Puts long bodies together again from their chunks, per call, and never beyond the limits. */
export class Assembler<First> {
  readonly #entries = new Map<number, Entry<First>>();
  readonly #limits: AssemblerLimits;
  #cost = 0;

  constructor(limits: AssemblerLimits) {
    this.#limits = limits;
  }

  begin(id: number, first: First, body: Uint8Array): void {
    if (this.#entries.has(id))
      throw new ClusterError('protocol_violation', `call ${id} sent two bodies at once`);
    const entry: Entry<First> = { first, parts: [], bytes: 0, cost: 0 };
    this.#entries.set(id, entry);
    this.#take(entry, body);
  }

  /** The whole body and the frame that began it, once the last chunk is in. Chunks of a forgotten call pass. */
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
      throw new ClusterError('message_too_large', `a message is above ${messageBytesMax} bytes`);
    }
    if (this.#cost > bytesMax) {
      throw new ClusterError(
        'message_too_large',
        `messages that are not whole yet are above ${bytesMax} bytes`,
      );
    }
    entry.parts.push(body);
  }
}
