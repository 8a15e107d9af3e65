import { ClusterError } from '../errors.js';
import { epoch as epochOf, type Epoch } from '../ids/ids.js';
import { Fifo } from '../mailbox/fifo.js';

export type StreamEnd =
  | { readonly how: 'completed' }
  | { readonly how: 'failed'; readonly error: Error }
  | { readonly how: 'cancelled' };

export interface StreamSource {
  /** Credit for what the reader has taken. */
  grant(amount: number): void;
  /** The reader wants no more. */
  cancel(): void;
}

interface Waiter<Item> {
  resolve(result: IteratorResult<Item, undefined>): void;
  reject(error: Error): void;
}

/**
 * The reading half: messages in order, then one end. Credit goes back in halves of the window, so that a
 * frame of credit is not sent for each message. Leaving a `for await` loop cancels the producer.
 */
export class ReplyStream<Item> implements AsyncIterableIterator<Item, undefined> {
  readonly #items = new Fifo<{ readonly value: Item; readonly cost: number; readonly epoch: Epoch }>();
  readonly #window: number;
  readonly #onEnd: (end: StreamEnd) => void;
  #source: StreamSource;
  #waiter: Waiter<Item> | undefined;
  #owed = 0;
  #end: StreamEnd | undefined;
  /** Of what comes in now, and of what was read last. */
  #openEpoch: Epoch | undefined;
  #readEpoch: Epoch | undefined;
  #onEpoch: ((epoch: Epoch) => void) | undefined;

  constructor(window: number, source: StreamSource, onEnd: (end: StreamEnd) => void = () => {}) {
    this.#window = window;
    this.#source = source;
    this.#onEnd = onEnd;
  }

  /** How it ended; undefined while it runs. Messages may still wait to be read. */
  get end(): StreamEnd | undefined {
    return this.#end;
  }

  /**
   * Of the activation that sent the message read last; before the first, of the one that has begun to answer.
   * Undefined until one has; 0 for an actor without durable state.
   */
  get epoch(): Epoch | undefined {
    return this.#readEpoch ?? this.#openEpoch;
  }

  /**
   * Told as soon as an activation begins to answer, ahead of its messages; again when the stream goes on with
   * a newer one. Told at once of one that has begun already. One listener.
   */
  onEpoch(listener: (epoch: Epoch) => void): void {
    this.#onEpoch = listener;
    if (this.#openEpoch !== undefined) listener(this.#openEpoch);
  }

  get buffered(): number {
    return this.#items.size;
  }

  /** From here on another producer feeds the stream: the retry of a call whose owner moved. */
  attach(source: StreamSource): void {
    this.#source = source;
    this.#owed = 0;
  }

  /** An activation has begun to answer; what is pushed from here on is its. */
  opened(epoch: Epoch): void {
    if (this.#end !== undefined) return;
    this.#openEpoch = epoch;
    this.#onEpoch?.(epoch);
  }

  push(value: Item, cost: number): void {
    if (this.#end !== undefined) return;
    const waiter = this.#waiter;
    if (waiter === undefined) {
      this.#items.push({ value, cost, epoch: this.#openEpoch ?? noEpoch });
      return;
    }
    this.#waiter = undefined;
    this.#readEpoch = this.#openEpoch;
    waiter.resolve({ done: false, value });
    this.#took(cost);
  }

  /** Only the first end counts. */
  finish(error?: Error): void {
    this.#finish(error === undefined ? { how: 'completed' } : { how: 'failed', error });
  }

  /** Drops what is buffered and tells the producer. */
  cancel(): void {
    if (this.#end !== undefined) return;
    this.#finish({ how: 'cancelled' });
    while (this.#items.shift() !== undefined) continue;
    this.#source.cancel();
  }

  next(): Promise<IteratorResult<Item, undefined>> {
    const item = this.#items.shift();
    if (item !== undefined) {
      this.#readEpoch = item.epoch;
      this.#took(item.cost);
      return Promise.resolve({ done: false, value: item.value });
    }
    if (this.#end !== undefined) {
      return this.#end.how === 'failed' ? Promise.reject(this.#end.error) : Promise.resolve(finished);
    }
    if (this.#waiter !== undefined) {
      return Promise.reject(new ClusterError('protocol_violation', 'a stream has one reader at a time'));
    }
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject };
    });
  }

  return(): Promise<IteratorResult<Item, undefined>> {
    this.cancel();
    return Promise.resolve(finished);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #took(cost: number): void {
    this.#owed += cost;
    if (this.#owed * 2 < this.#window || this.#end !== undefined) return;
    const amount = this.#owed;
    this.#owed = 0;
    this.#source.grant(amount);
  }

  #finish(end: StreamEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    const waiter = this.#waiter;
    this.#waiter = undefined;
    if (end.how === 'failed') waiter?.reject(end.error);
    else waiter?.resolve(finished);
    this.#onEnd(end);
  }
}

const noEpoch = epochOf(0);
const finished = { done: true, value: undefined } as const;
