import { connect, type Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import { eventually } from '../clocks/eventually.js';

/** A connection over which a test sends bytes as they are, right or wrong. */
export class RawConnection {
  readonly socket: Socket;
  /** The answer, as Latin-1. */
  received = '';
  closed = false;

  constructor(t: ExecutionContext, port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('data', (bytes) => (this.received += bytes.toString('latin1')));
    // An error closes the socket; tests look at the close.
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => (this.closed = true));
    t.teardown(() => void this.socket.destroy());
  }

  send(text: string): this {
    this.socket.write(Buffer.from(text, 'latin1'));
    return this;
  }

  get statuses(): readonly number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }

  answered(what: string): Promise<boolean> {
    return eventually(() => this.statuses.length > 0, { what: `an answer to ${what}` });
  }

  /** Also waits for a native idle time. */
  ended(what: string): Promise<boolean> {
    return eventually(() => this.closed, { what: `the end of the connection of ${what}` });
  }
}
