/** A second piece gets a block of this size, each later one twice as much, up to the greatest. */
const blockBytesMin = 4 * 1024;
const blockBytesMax = 256 * 1024;

/**
 * The bytes of a body in few blocks, however small the pieces are in which they come: an object for each piece would
 * cost a hundred times the byte that a hostile client puts into it.
 */
export class BodyBlocks {
  #blocks: Buffer[] = [];
  /** How much of the last block is used. */
  #used = 0;
  #length = 0;
  #nextBytes = blockBytesMin;

  /** How many bytes the next `add` of so many will allocate. */
  growthFor(bytes: number): number {
    const last = this.#blocks.at(-1);
    if (last === undefined) return bytes;
    const rest = bytes - (last.length - this.#used);
    return rest <= 0 ? 0 : Math.max(rest, this.#nextBytes);
  }

  add(bytes: Uint8Array): void {
    this.#length += bytes.length;
    const last = this.#blocks.at(-1);
    const fits = last === undefined ? 0 : Math.min(bytes.length, last.length - this.#used);
    last?.set(bytes.subarray(0, fits), this.#used);
    this.#used += fits;
    if (fits === bytes.length) return;
    const size = this.growthFor(bytes.length - fits);
    if (last !== undefined) this.#nextBytes = Math.min(this.#nextBytes * 2, blockBytesMax);
    // Not from the shared pool: a small part of it would keep the whole alive.
    const block = Buffer.allocUnsafeSlow(size);
    block.set(bytes.subarray(fits));
    this.#blocks.push(block);
    this.#used = bytes.length - fits;
  }

  /** All bytes in one piece. */
  whole(): Uint8Array {
    const [only] = this.#blocks;
    if (only !== undefined && this.#blocks.length === 1) return only.subarray(0, this.#length);
    return Buffer.concat(this.#blocks, this.#length);
  }
}
