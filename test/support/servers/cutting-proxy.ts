// A network that stops at chosen places of streams of events, and cuts the connection when the test has seen what passed:
// a client may drop what it has not read when its connection breaks.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';

/** Where a connection stops, counted in its answers' events; undefined: nowhere. */
export interface Cut {
  /** Whole events that pass. With none, the connection is cut there at once. */
  readonly events: number;
  /** Bytes of the next one that still pass. */
  readonly bytes?: number;
}

export class CuttingProxy {
  /** How many connections there were. */
  connections = 0;
  readonly #target: URL;
  readonly #server: Server;
  readonly #cutOf: (connection: number) => Cut | undefined;
  readonly #sockets = new Set<Socket>();
  readonly #stopped = new Set<Socket>();
  #refuses = false;
  #passed = '';

  private constructor(target: string, cutOf: (connection: number) => Cut | undefined) {
    this.#target = new URL(target);
    this.#cutOf = cutOf;
    this.#server = createServer((client) => this.#carry(client));
  }

  /** `cutOf` gets the number of the connection, from 1. */
  static async before(target: string, cutOf: (connection: number) => Cut | undefined): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(target, cutOf);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('The proxy listens on TCP');
    return `http://127.0.0.1:${address.port}`;
  }

  /** Cuts the connections that have come to their place. */
  cut(): void {
    for (const socket of this.#stopped) socket.destroy();
    this.#stopped.clear();
  }

  /** While it refuses, there is no connection: the old ones are cut, and new ones at once. */
  refuse(refuses: boolean): void {
    this.#refuses = refuses;
    if (refuses) for (const socket of this.#sockets) socket.destroy();
  }

  /** Whether a text was in what came from the server. */
  passed(text: string): boolean {
    return this.#passed.includes(text);
  }

  async close(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, 'close');
  }

  #carry(client: Socket): void {
    this.connections += 1;
    if (this.#refuses) {
      client.destroy();
      return;
    }
    const cut = this.#cutOf(this.connections);
    const server = connect(Number(this.#target.port), this.#target.hostname);
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      // An error closes the socket, and the close is passed on.
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.on('data', (bytes) => server.write(bytes));
    let events = 0;
    server.on('data', (bytes) => {
      this.#passed += bytes.toString('latin1');
      const before = events;
      events += count(bytes);
      if (cut === undefined || events < cut.events) {
        client.write(bytes);
        return;
      }
      const end = endOf(bytes, cut.events - before) + (cut.bytes ?? 0);
      server.removeAllListeners('data');
      server.pause();
      client.write(bytes.subarray(0, end));
      this.#stopped.add(client);
      if (cut.events === 0) this.cut();
    });
  }
}

/** An event with its end. Comments have no `event`, and the heads of answers no blank line of LF. */
const event = /event: [^]*?\n\n/g;

/** The place after so many more events. */
function endOf(bytes: Buffer, more: number): number {
  // One character for each byte.
  const found = [...bytes.toString('latin1').matchAll(event)].slice(0, more).at(-1);
  return found === undefined ? 0 : found.index + found[0].length;
}

function count(bytes: Buffer): number {
  return [...bytes.toString('latin1').matchAll(event)].length;
}
