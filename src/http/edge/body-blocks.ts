/** The second piece gets a block of this size; each later block is twice as large, up to the maximum. */
const blockBytesMin = 4 * 1024;
const blockBytesMax = 256 * 1024;

/**
 * Collects the bytes of a body in few blocks, even if they arrive in tiny pieces: one object per piece would cost a
 * hundred times the byte that a hostile client sends in it.
 */
export class BodyBlocks {
  #blocks: Buffer[] = [];
  /** Used bytes of the last block. */
  #used = 0;
  #length = 0;
  #nextBytes = blockBytesMin;

  /** The number of bytes that the next `add` of this size will allocate. */
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
    // Not from the shared pool: a small slice would keep the whole pool alive.
    const block = Buffer.allocUnsafeSlow(size);
    block.set(bytes.subarray(fits));
    this.#blocks.push(block);
    this.#used = bytes.length - fits;
  }

  /** All bytes as one array. */
  whole(): Uint8Array {
    const [only] = this.#blocks;
    if (only !== undefined && this.#blocks.length === 1) return only.subarray(0, this.#length);
    return Buffer.concat(this.#blocks, this.#length);
  }
}
