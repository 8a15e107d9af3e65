import type { Epoch } from '../ids/ids.js';

/** An open stream that ends when a newer activation of its actor is seen. */
export interface EpochStream {
  /** The epoch it runs under; 0 for an actor without durable state, whose streams are never superseded. */
  readonly epoch: Epoch;
  superseded(by: Epoch): void;
}

/**
 * The open streams of this process by actor (protocol 4.4). A cut-off owner may still send for a moment while its
 * successor already answers. As soon as anything with a newer epoch arrives, including the answer of another call,
 * the actor's older streams end and are requested again.
 */
export class StreamEpochs<Stream extends EpochStream> {
  readonly #actors = new Map<string, Set<Stream>>();

  /** Number of actors with an open stream here. */
  get size(): number {
    return this.#actors.size;
  }

  opened(actor: string, stream: Stream): void {
    if (stream.epoch === 0) return;
    let streams = this.#actors.get(actor);
    if (streams === undefined) {
      streams = new Set();
      this.#actors.set(actor, streams);
    }
    streams.add(stream);
    let newest = stream.epoch;
    for (const { epoch } of streams) if (epoch > newest) newest = epoch;
    this.newerEpoch(actor, newest);
  }

  closed(actor: string, stream: Stream): void {
    const streams = this.#actors.get(actor);
    if (streams?.delete(stream) === true && streams.size === 0) this.#actors.delete(actor);
  }

  newerEpoch(actor: string, newest: Epoch): void {
    // Iterates over a copy: a superseded stream leaves the set, and may be added again during this loop.
    for (const stream of Array.from(this.#actors.get(actor) ?? [])) {
      if (stream.epoch < newest) stream.superseded(newest);
    }
  }
}
