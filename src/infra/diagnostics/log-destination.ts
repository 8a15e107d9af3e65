import { closeSync, openSync, write, writeSync } from 'node:fs';

const bufferBytes = 65_536;
/** Short enough that readers of the log do not notice the delay. */
const flushEveryMs = 200;
const retryMs = 20;
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
  readonly #waiting: Buffer[] = [];
  #filling = Buffer.allocUnsafe(bufferBytes);
  #filled = 0;
  #writing = false;
  #dropped = 0;

  /** `target` is a path, or a descriptor such as 1 for standard output. */
  constructor(target: string | number) {
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
    const piece = this.#waiting[0];
    this.#writing = piece !== undefined;
    if (piece === undefined) return;
    write(this.#descriptor, piece, (error, written) => {
      if (error?.code === 'EAGAIN') {
        setTimeout(() => this.#writeNext(), retryMs).unref();
        return;
      }
      // A failed write must not end the node; the piece is lost and counted.
      if (error !== null) this.#dropped += 1;
      this.#took(piece, error === null ? written : piece.length);
      this.#writeNext();
    });
  }

  #took(piece: Buffer, written: number): void {
    if (this.#waiting[0] !== piece) return;
    if (written < piece.length) this.#waiting[0] = piece.subarray(written);
    else this.#waiting.shift();
  }

  /** The number of lost pieces, each up to 64 KB. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Writes everything buffered, before the process ends. */
  flushSync(): void {
    clearInterval(this.#timer);
    this.#turn();
    for (const piece of this.#waiting.splice(0)) {
      let rest = piece;
      while (rest.length > 0) rest = rest.subarray(writeSync(this.#descriptor, rest));
    }
    if (this.#owned) closeSync(this.#descriptor);
  }
}
