import type { StreamWriter } from '../http/operations/index.js';

/** A client that is this far behind is cut off. It can subscribe again, or read what its call did. */
const bytesMax = 1_048_576;

/**
 * The frames of one streamed answer that its client has not taken. The library queues any number of frames, whether the
 * client reads or not. So its stream is emptied at once and the frames are counted here, and whoever makes frames asks
 * before the next one whether the client has taken the former ones.
 */
export class UnsentFrames {
  readonly #frames: Uint8Array[] = [];
  #bytes = 0;
  #state: 'open' | 'complete' | 'cut' = 'open';
  #failure: { readonly error: unknown } | undefined;
  #writer: StreamWriter | undefined;
  /** Wakes the writing, which waits for frames. */
  #wake: (() => void) | undefined;
  #onTaken: (() => void)[] = [];

  /** True while the client has not taken all frames. A frame counts from the next turn of the event loop on. */
  get isBehind(): boolean {
    return this.#frames.length > 0;
  }

  /** Resolves when the client has taken all frames, or takes none any more. */
  taken(): Promise<void> {
    return this.isBehind ? new Promise((resolve) => this.#onTaken.push(resolve)) : Promise.resolve();
  }

  /** Empties the body from now on. Returns what writes the frames; `leave` ends the work that makes them. */
  of(body: ReadableStream<Uint8Array>, leave: () => void): (writer: StreamWriter) => Promise<void> {
    const reader = body.getReader();
    const cut = (): void => {
      if (this.#state === 'cut') return;
      this.#cut();
      leave();
      void reader.cancel().catch(() => undefined);
    };
    void this.#read(reader, cut);
    return (writer) => this.#write(writer, cut);
  }

  async #read(reader: ReadableStreamDefaultReader<Uint8Array>, cut: () => void): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done || this.#state === 'cut') break;
        // One frame may be larger: the result of a tool call.
        if (this.#bytes > bytesMax) return cut();
        this.#frames.push(value);
        this.#bytes += value.byteLength;
        this.#wake?.();
      }
    } catch (error) {
      this.#failure = { error };
    }
    if (this.#state === 'open') this.#state = 'complete';
    this.#wake?.();
  }

  async #write(writer: StreamWriter, cut: () => void): Promise<void> {
    this.#writer = writer;
    if (this.#state === 'cut') writer.cut?.();
    if (writer.gone.aborted) cut();
    else writer.gone.addEventListener('abort', cut, { once: true });
    while (this.#state !== 'cut') {
      const frame = this.#frames[0];
      if (frame !== undefined) {
        if (!writer.write(frame)) await writer.drained();
        this.#take(frame);
      } else if (this.#state === 'complete') break;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #take(frame: Uint8Array): void {
    if (this.#frames[0] !== frame) return;
    this.#frames.shift();
    this.#bytes -= frame.byteLength;
    if (!this.isBehind) this.#tellTaken();
  }

  #cut(): void {
    this.#state = 'cut';
    this.#frames.length = 0;
    this.#bytes = 0;
    this.#wake?.();
    this.#tellTaken();
    // Without its end the stream breaks off, so that it does not look like a whole answer.
    this.#writer?.cut?.();
  }

  #tellTaken(): void {
    const waiting = this.#onTaken;
    this.#onTaken = [];
    for (const resolve of waiting) resolve();
  }
}
