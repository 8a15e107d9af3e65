import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { mailBytesMax } from './mail-limits.js';

/** Mails that are being taken or read, of all senders and of one. More are told to come again. */
const heldMax = { all: 96 * 1024 * 1024, each: 32 * 1024 * 1024 };
/** What is beyond the size is read and dropped, for the refusal to be heard; whoever goes on and on is hung up on. */
const droppedMax = mailBytesMax;

export type Collected =
  | { readonly raw: Buffer; release(): void }
  | { readonly refused: 'too-large' | 'too-busy' };

/** The bytes of mails that this node holds for senders. */
export class IncomingBytes {
  readonly #heldOf = new Map<string, number>();
  #held = 0;

  /** Reads the mail to its end. `hangUp` ends the connection of a sender who does not stop. */
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
