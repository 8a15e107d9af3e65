import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { mailBytesMax } from './mail-limits.js';

/** Mails being received or read: in total, and per sender. Further mails are refused with a temporary error. */
const heldMax = { all: 96 * 1024 * 1024, each: 32 * 1024 * 1024 };
/**
 * Bytes beyond the size limit are read and dropped, so that the sender hears the refusal; a sender that does not stop
 * is disconnected.
 */
const droppedMax = mailBytesMax;

export type Collected =
  | { readonly raw: Buffer; release(): void }
  | { readonly refused: 'too-large' | 'too-busy' };

/** The bytes of mails that this node holds for senders. */
export class IncomingBytes {
  readonly #heldOf = new Map<string, number>();
  #held = 0;

  /** Reads the mail to its end. `hangUp` disconnects a sender that does not stop. */
  async collect(stream: Readable, share: string, hangUp: () => void): Promise<Collected> {
    let chunks: Buffer[] = [];
    let held = 0;
    let received = 0;
    let refused: 'too-large' | 'too-busy' | undefined;
    const drop = (): void => {
      chunks = [];
      this.#give(share, held);
      held = 0;
    };
    stream.on('data', (chunk: Buffer) => {
      received += chunk.byteLength;
      if (received > mailBytesMax + droppedMax) hangUp();
      if (refused !== undefined) return;
      if (received > mailBytesMax) refused = 'too-large';
      else if (!this.#hasRoom(share, chunk.byteLength)) refused = 'too-busy';
      if (refused !== undefined) return drop();
      chunks.push(chunk);
      held += chunk.byteLength;
      this.#take(share, chunk.byteLength);
    });
    try {
      await finished(stream, { writable: false });
    } catch (error) {
      drop();
      throw error;
    }
    if (refused !== undefined) return { refused: received > mailBytesMax ? 'too-large' : refused };
    return { raw: Buffer.concat(chunks), release: drop };
  }

  #hasRoom(share: string, bytes: number): boolean {
    return this.#held + bytes <= heldMax.all && (this.#heldOf.get(share) ?? 0) + bytes <= heldMax.each;
  }

  #take(share: string, bytes: number): void {
    this.#held += bytes;
    this.#heldOf.set(share, (this.#heldOf.get(share) ?? 0) + bytes);
  }

  #give(share: string, bytes: number): void {
    this.#held -= bytes;
    const left = (this.#heldOf.get(share) ?? 0) - bytes;
    if (left > 0) this.#heldOf.set(share, left);
    else this.#heldOf.delete(share);
  }
}
