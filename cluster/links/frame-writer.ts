import type { ClusterConfig } from '../config.js';
import { Fifo } from '../mailbox/fifo.js';
import type { Time } from '../time/time.js';
import type { Frame, Pipe } from './pipe.js';

/** Estimated size of a frame without its body. */
const frameOverheadBytes = 32;

/** A long body being sent. Later frames of the same call wait for its end. */
interface Bulk {
  readonly id: number;
  readonly body: Uint8Array;
  offset: number;
  readonly after: (() => void)[];
}

/**
 * Sends all frames of one turn of the event loop to a peer as one batch. Long bodies are sent in interleaved chunks
 * after the short frames, so that no call waits for the megabytes of another. Nothing is written while the pipe is
 * full; the users of the queue limit its size.
 */
export class FrameWriter {
  readonly #pipe: Pipe;
  readonly #time: Time;
  readonly #config: ClusterConfig;
  readonly #mayAct: () => boolean;
  readonly #onLapse: () => void;
  #frames = new Fifo<Frame>();
  /** The cost of each frame, in a separate queue to save an object per message. */
  #costs = new Fifo<number>();
  readonly #bulk = new Fifo<Bulk>();
  readonly #bulkById = new Map<number, Bulk>();
  #queuedBytes = 0;
  #scheduled = false;
  #full = false;
  #closed = false;

  /** Checks `mayAct` right before each batch, and calls `onLapse` if it is false. */
  constructor(pipe: Pipe, time: Time, config: ClusterConfig, mayAct: () => boolean, onLapse: () => void) {
    this.#pipe = pipe;
    this.#time = time;
    this.#config = config;
    this.#mayAct = mayAct;
    this.#onLapse = onLapse;
    pipe.onDrain(() => {
      this.#full = false;
      this.#schedule();
    });
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** Sends a frame without a long body. `id` is its call, or 0. */
  send(id: number, frame: Frame, bodyBytes = 0): void {
    if (this.#closed) return;
    const bulk = id === 0 || this.#bulkById.size === 0 ? undefined : this.#bulkById.get(id);
    const bytes = bodyBytes + frameOverheadBytes;
    if (bulk !== undefined) {
      this.#sendAfter(bulk, bytes, () => this.send(id, frame, bodyBytes));
      return;
    }
    this.#frames.push(frame);
    this.#costs.push(bytes);
    this.#queuedBytes += bytes;
    this.#schedule();
  }

  /** Sends a frame whose body may be long; `frame` builds it from the first part. */
  sendBody(id: number, body: Uint8Array, frame: (part: Uint8Array, more: boolean) => Frame): void {
    if (this.#closed) return;
    const chunk = this.#config.chunkBytes;
    const before = this.#bulkById.get(id);
    if (before !== undefined) {
      this.#sendAfter(before, body.length, () => this.sendBody(id, body, frame));
      return;
    }
    if (body.length <= chunk) {
      this.send(id, frame(body, false), body.length);
      return;
    }
    this.send(id, frame(body.subarray(0, chunk), true), chunk);
    const bulk: Bulk = { id, body, offset: chunk, after: [] };
    this.#bulk.push(bulk);
    this.#bulkById.set(id, bulk);
    this.#queuedBytes += body.length - chunk;
  }

  /** What waits for the end of a long body is queued too. */
  #sendAfter(bulk: Bulk, bytes: number, send: () => void): void {
    this.#queuedBytes += bytes;
    bulk.after.push(() => {
      this.#queuedBytes -= bytes;
      send();
    });
  }

  close(): void {
    this.#closed = true;
    this.#frames = new Fifo();
    this.#costs = new Fifo();
    while (this.#bulk.shift() !== undefined) continue;
    this.#bulkById.clear();
    this.#queuedBytes = 0;
  }

  /** Writes waiting frames now, without waiting for the end of the turn. */
  flush(): void {
    if (this.#closed || this.#full) return;
    if (this.#frames.size === 0 && this.#bulk.size === 0) return;
    if (!this.#mayAct()) {
      this.#onLapse();
      return;
    }
    const batch = this.#batch();
    this.#full = !this.#pipe.write(batch);
    if (this.#frames.size > 0 || this.#bulk.size > 0) this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#full || this.#closed) return;
    this.#scheduled = true;
    this.#time.soon(() => {
      this.#scheduled = false;
      this.flush();
    });
  }

  #batch(): Frame[] {
    const batch: Frame[] = [];
    let bytes = 0;
    const { batchBytes: max, batchFramesMax } = this.#config;
    while (bytes < max && batch.length < batchFramesMax) {
      const next = this.#frames.shift();
      if (next === undefined) break;
      const cost = this.#costs.shift() ?? 0;
      batch.push(next);
      bytes += cost;
      this.#queuedBytes -= cost;
    }
    while (bytes < max && batch.length < batchFramesMax) {
      const bulk = this.#bulk.shift();
      if (bulk === undefined) break;
      const part = bulk.body.subarray(bulk.offset, bulk.offset + this.#config.chunkBytes);
      bulk.offset += part.length;
      bytes += part.length;
      this.#queuedBytes -= part.length;
      const more = bulk.offset < bulk.body.length;
      batch.push({ frame: { $case: 'chunk', value: { id: bulk.id, body: part, more } } });
      if (more) {
        this.#bulk.push(bulk);
        continue;
      }
      this.#bulkById.delete(bulk.id);
      for (const sendNext of bulk.after) sendNext();
    }
    return batch;
  }
}
