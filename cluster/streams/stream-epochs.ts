import type { Epoch } from '../ids/ids.js';

/** An open stream that can be told that a newer activation of its actor exists. */
export interface EpochStream {
  /** Under which it runs; 0 for an actor without durable state, which has no newer and older. */
  readonly epoch: Epoch;
  superseded(by: Epoch): void;
}

/**
 * The open streams of this process by actor (protocol 4.4). An owner that was cut off may go on sending for a
 * moment while its successor already answers: as soon as anything under a newer epoch arrives here, be it the
 * answer of another call, the older streams of that actor end and are asked for again.
 */
export class StreamEpochs<Stream extends EpochStream> {
  readonly #actors = new Map<string, Set<Stream>>();

  /** How many actors have an open stream here. */
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
    this.heard(actor, newest);
  }

  closed(actor: string, stream: Stream): void {
    const streams = this.#actors.get(actor);
    if (streams?.delete(stream) === true && streams.size === 0) this.#actors.delete(actor);
  }

  heard(actor: string, newest: Epoch): void {
    // A copy: a stream that is told leaves the set, and may be back in it before this loop ends.
    for (const stream of Array.from(this.#actors.get(actor) ?? [])) {
      if (stream.epoch < newest) stream.superseded(newest);
    }
  }
}
