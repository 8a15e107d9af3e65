import { closeSync, openSync, write, writeSync } from 'node:fs';

const bufferBytes = 65_536;
/** Short enough that readers of the log do not notice the delay. */
const flushEveryMs = 200;
const retryMs = 20;
/** How long the end of the process waits for a reader that is behind; its supervisor waits too. */
const lastWaitMsMax = 2_000;
/** 8 MB of unwritten lines; further pieces are dropped and counted instead of filling the memory. */
const waitingMax = 128;

/**
 * The destination of log lines: copies them into a buffer and writes large pieces. Joining and measuring strings for each
 * line, as general log streams do, took a quarter of the time of a small request here.
 */
export class LogDestination {
  readonly #descriptor: number;
  readonly #owned: boolean;
  readonly #timer: NodeJS.Timeout;
  readonly #triesMax: number;
  readonly #waiting: Buffer[] = [];
  #filling = Buffer.allocUnsafe(bufferBytes);
  #filled = 0;
  #writing = false;
  /** A thread writes one piece, which is no longer in `#waiting`. */
  #inFlight = false;
  #isEnding = false;
  #isClosed = false;
  #triesLeft = 0;
  #dropped = 0;

  /** `target` is a path, or a descriptor such as 1 for standard output. */
  constructor(target: string | number, lastWaitMs = lastWaitMsMax) {
    this.#triesMax = lastWaitMs / retryMs;
    this.#owned = typeof target === 'string';
    this.#descriptor = typeof target === 'string' ? openSync(target, 'a', 0o600) : target;
    this.#timer = setInterval(() => this.#turn(), flushEveryMs);
    this.#timer.unref();
  }

  write(text: string): void {
    // One UTF-16 unit becomes at most three bytes.
    if (!this.#hasRoom(text.length * 3)) this.#queue(Buffer.from(text));
    else this.#filled += this.#filling.write(text, this.#filled, 'utf8');
  }

  /** For lines that contain only ASCII. */
  writeAscii(text: string): void {
    if (!this.#hasRoom(text.length)) this.#queue(Buffer.from(text, 'latin1'));
    else this.#filled += this.#filling.write(text, this.#filled, 'latin1');
  }

  /** Makes room in the buffer; false for a text larger than a buffer. */
  #hasRoom(bytes: number): boolean {
    if (this.#filled + bytes > bufferBytes) this.#turn();
    return bytes <= bufferBytes;
  }

  #turn(): void {
    if (this.#filled === 0) return;
    const full = this.#filling.subarray(0, this.#filled);
    this.#filling = Buffer.allocUnsafe(bufferBytes);
    this.#filled = 0;
    this.#queue(full);
  }

  #queue(piece: Buffer): void {
    if (this.#waiting.length >= waitingMax) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(piece);
    if (!this.#writing) this.#writeNext();
  }

  #writeNext(): void {
    const piece = this.#waiting.shift();
    this.#writing = piece !== undefined;
    if (piece === undefined) return;
    this.#inFlight = true;
    write(this.#descriptor, piece, (error, written) => {
      this.#inFlight = false;
      this.#took(piece, error, written);
      if (this.#isEnding) {
        this.#writing = false;
        this.#writeAll();
      } else if (isBusy(error)) setTimeout(() => this.#writeNext(), retryMs).unref();
      else this.#writeNext();
    });
  }

  #took(piece: Buffer, error: Error | null, written: number): void {
    if (error !== null && !isBusy(error)) {
      // A failed write must not end the node; the piece is lost and counted.
      this.#dropped += 1;
      return;
    }
    const rest = piece.subarray(error === null ? written : 0);
    if (rest.length > 0) this.#waiting.unshift(rest);
  }

  /** The number of lost pieces, each up to 64 KB. */
  get dropped(): number {
    return this.#dropped;
  }

  /**
   * Writes everything buffered, before the process ends. A piece that a thread is writing is left to it, or it would be
   * written twice: a process that ends by itself waits for that.
   */
  flushSync(): void {
    clearInterval(this.#timer);
    this.#isEnding = true;
    this.#triesLeft = this.#triesMax;
    this.#waiting.push(this.#filling.subarray(0, this.#filled));
    this.#filled = 0;
    this.#writeAll();
  }

  #writeAll(): void {
    for (const piece of this.#waiting.splice(0)) this.#writeNow(piece);
    if (!this.#owned || this.#inFlight || this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.#descriptor);
  }

  #writeNow(piece: Buffer): void {
    for (let rest = piece; rest.length > 0;) {
      try {
        rest = rest.subarray(writeSync(this.#descriptor, rest));
      } catch (error) {
        this.#triesLeft -= 1;
        if (!isBusy(error) || this.#triesLeft < 0) {
          this.#dropped += 1;
          return;
        }
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
      }
    }
  }
}

/** The reader of a pipe is behind. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN';
}
