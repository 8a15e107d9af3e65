import { ClusterError } from '../errors.js';

/** Puts long bodies together again from their chunks, per call, and never beyond the size limit. */
export class Assembler<First> {
  readonly #parts = new Map<number, { readonly first: First; readonly parts: Uint8Array[]; bytes: number }>();
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  begin(id: number, first: First, body: Uint8Array): void {
    if (this.#parts.has(id))
      throw new ClusterError('protocol_violation', `call ${id} sent two bodies at once`);
    this.#parts.set(id, { first, parts: [body], bytes: body.length });
  }

  /** The whole body and the frame that began it, once the last chunk is in. Chunks of a forgotten call pass. */
  add(id: number, body: Uint8Array, more: boolean): { first: First; body: Uint8Array } | undefined {
    const entry = this.#parts.get(id);
    if (entry === undefined) return undefined;
    entry.bytes += body.length;
    if (entry.bytes > this.#maxBytes) {
      throw new ClusterError('message_too_large', `a message is above ${this.#maxBytes} bytes`);
    }
    entry.parts.push(body);
    if (more) return undefined;
    this.#parts.delete(id);
    return { first: entry.first, body: Buffer.concat(entry.parts, entry.bytes) };
  }

  forget(id: number): void {
    this.#parts.delete(id);
  }
}
