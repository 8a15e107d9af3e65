import { ClusterError } from '../errors.js';
import { epoch as epochOf, type Epoch } from '../ids/ids.js';
import { Fifo } from '../mailbox/fifo.js';

export type StreamEnd =
  | { readonly how: 'completed' }
  | { readonly how: 'failed'; readonly error: Error }
  | { readonly how: 'cancelled' };

export interface StreamSource {
  /** Returns the credit of messages that the reader has taken. */
  grant(amount: number): void;
  /** The reader needs no more messages. */
  cancel(): void;
}

interface Waiter<Item> {
  resolve(result: IteratorResult<Item, undefined>): void;
  reject(error: Error): void;
}

/**
 * The reading half: messages in order, then one end. Credit is returned in halves of the window, so that not every
 * message causes a credit frame. Leaving a `for await` loop cancels the producer.
 */
export class ReplyStream<Item> implements AsyncIterableIterator<Item, undefined> {
  readonly #items = new Fifo<{ readonly value: Item; readonly cost: number; readonly epoch: Epoch }>();
  #bufferedCost = 0;
  readonly #window: number;
  readonly #onEnd: (end: StreamEnd) => void;
  #source: StreamSource;
  #waiter: Waiter<Item> | undefined;
  #takenCredit = 0;
  #end: StreamEnd | undefined;
  /** Epoch of the incoming messages, and of the message read last. */
  #openEpoch: Epoch | undefined;
  #readEpoch: Epoch | undefined;
  #onEpoch: ((epoch: Epoch) => void) | undefined;

  constructor(window: number, source: StreamSource, onEnd: (end: StreamEnd) => void = () => {}) {
    this.#window = window;
    this.#source = source;
    this.#onEnd = onEnd;
  }

  /** How the stream ended; undefined while it runs. Unread messages may remain. */
  get end(): StreamEnd | undefined {
    return this.#end;
  }

  /**
   * Epoch of the activation that sent the message read last; before the first message, of the activation that has
   * begun to answer. Undefined before that; 0 for an actor without durable state.
   */
  get epoch(): Epoch | undefined {
    return this.#readEpoch ?? this.#openEpoch;
  }

  /**
   * Called when an activation begins to answer, before its messages, and again if the stream continues under a newer
   * one. Called at once if one has already begun. Only one listener.
   */
  onEpoch(listener: (epoch: Epoch) => void): void {
    this.#onEpoch = listener;
    if (this.#openEpoch !== undefined) listener(this.#openEpoch);
  }

  get buffered(): number {
    return this.#items.size;
  }

  get bufferedCost(): number {
    return this.#bufferedCost;
  }

  /** The credit of a new producer: the window without the messages of earlier ones that are still unread. */
  get room(): number {
    return Math.max(0, this.#window - this.#bufferedCost);
  }

  /**
   * From now on another producer feeds the stream, with `room` as its credit: the retry of a call whose owner moved. One
   * message may overdraw the window; reading it returns no credit then.
   */
  attach(source: StreamSource): void {
    this.#source = source;
    this.#takenCredit = Math.min(0, this.#window - this.#bufferedCost);
  }

  /** An activation has begun to answer; later messages belong to it. */
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
      this.#bufferedCost += cost;
      return;
    }
    this.#waiter = undefined;
    this.#readEpoch = this.#openEpoch;
    waiter.resolve({ done: false, value });
    this.#returnCredit(cost);
  }

  /** Only the first call takes effect. */
  finish(error?: Error): void {
    this.#finish(error === undefined ? { how: 'completed' } : { how: 'failed', error });
  }

  /** Drops buffered messages and cancels the producer. */
  cancel(): void {
    if (this.#end !== undefined) return;
    this.#finish({ how: 'cancelled' });
    while (this.#items.shift() !== undefined) continue;
    this.#bufferedCost = 0;
    this.#source.cancel();
  }

  next(): Promise<IteratorResult<Item, undefined>> {
    const item = this.#items.shift();
    if (item !== undefined) {
      this.#readEpoch = item.epoch;
      this.#bufferedCost -= item.cost;
      this.#returnCredit(item.cost);
      return Promise.resolve({ done: false, value: item.value });
    }
    if (this.#end !== undefined) {
      return this.#end.how === 'failed' ? Promise.reject(this.#end.error) : Promise.resolve(finished);
    }
    if (this.#waiter !== undefined) {
      return Promise.reject(
        new ClusterError('protocol_violation', 'a stream allows only one pending next() at a time'),
      );
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

  #returnCredit(cost: number): void {
    this.#takenCredit += cost;
    if (this.#takenCredit * 2 < this.#window || this.#end !== undefined) return;
    const amount = this.#takenCredit;
    this.#takenCredit = 0;
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
