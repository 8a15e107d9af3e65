/** Receives the messages of a stream: a reader in this process, or a link. */
export interface StreamSink<Item> {
  /** Takes one message and returns its cost in credit. */
  item(value: Item): number;
  /** Called exactly once, after the last message. */
  end(error: unknown): void;
}

/**
 * The producing half. It asks the source for a message only while there is credit, so a slow reader slows the
 * producer and nothing accumulates in between. One message may overdraw the credit; otherwise a message larger than
 * the whole credit could never pass.
 */
export class Outflow<Item> {
  readonly #source: AsyncIterator<Item>;
  readonly #sink: StreamSink<Item>;
  #credit: number;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(source: AsyncIterator<Item>, sink: StreamSink<Item>, credit: number) {
    this.#source = source;
    this.#sink = sink;
    this.#credit = credit;
  }

  get ended(): boolean {
    return this.#ended;
  }

  grant(amount: number): void {
    this.#credit += amount;
    if (this.#credit > 0) this.#resume();
  }

  /** Ends the stream for its reader and stops the source. No effect after the end. */
  cancel(error: unknown): void {
    if (this.#ended) return;
    this.#end(error);
    this.#resume();
  }

  /** Resolves when the source has stopped, which may be after the reader saw the end. Never rejects. */
  async run(): Promise<void> {
    try {
      for (;;) {
        while (this.#credit <= 0 && !this.#ended) await this.#granted();
        if (this.#ended) break;
        const next = await this.#source.next();
        if (this.#ended) break;
        if (next.done === true) {
          this.#end(undefined);
          return;
        }
        // A separate statement: the sink may grant credit before it returns.
        const cost = this.#send(next.value);
        this.#credit -= cost;
      }
      await this.#source.return?.();
    } catch (error) {
      // After a cancel the reader already has its answer; a failure while stopping has no receiver.
      this.#end(error);
    }
  }

  /** The cost of the message. If it cannot be sent the stream ends; the source is at its `yield`, and must be stopped. */
  #send(value: Item): number {
    try {
      return this.#sink.item(value);
    } catch (error) {
      this.#end(error);
      return 0;
    }
  }

  #end(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#sink.end(error);
  }

  #granted(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #resume(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
