import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { Allowance } from './message-filter.js';
import { MessageFilter } from './message-filter.js';

/**
 * An open connection in the form in which the driver takes one: it "connects" at once, and hands over what has passed
 * the filter. What the driver throws while it reads closes the connection, in place of ending the process.
 */
export class FilteredStream extends Duplex {
  readonly #socket: Socket;
  readonly #filter = new MessageFilter();

  constructor(socket: Socket, allowance: Allowance) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    this.#filter.allow(allowance);
    // The driver listens only while it is connected. The code that ends a connection reports the reason.
    this.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  /** Sets how many bytes may arrive from now on. */
  allow(allowance: Allowance): void {
    this.#filter.allow(allowance);
  }

  /** The driver asks for it; the connection is there. */
  connect(): this {
    process.nextTick(() => this.emit('connect'));
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  /** A connection that only listens would otherwise never notice that the other end is gone. */
  setKeepAlive(isOn: boolean, idleMs: number): this {
    this.#socket.setKeepAlive(isOn, idleMs);
    return this;
  }

  #receive(chunk: Buffer): void {
    try {
      for (const message of this.#filter.take(chunk)) {
        if (this.destroyed) return;
        // Emitted here and not by way of the stream's buffer, which would call the driver where nobody can catch.
        this.emit('data', message);
      }
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error('the driver failed', { cause: error }));
    }
  }

  override _read(): void {
    // Data is passed on as it arrives.
  }

  override _write(chunk: Buffer, _encoding: string, callback: (error?: Error | null) => void): void {
    this.#socket.write(chunk, callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#socket.end(() => callback());
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#socket.destroy();
    callback(error);
  }
}
