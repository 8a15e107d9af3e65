import { createServer as createPlainServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import type { ClusterConfig } from '../../config.js';
import { ClusterError } from '../../errors.js';
import type { Time, Timer } from '../../time/time.js';
import { plainBinding, serverTlsOptions, tlsBinding } from './credentials.js';
import type { RenewableTls } from './renewable-tls.js';

export interface DoorParts {
  readonly host: string;
  readonly port: number;
  readonly tls: RenewableTls | undefined;
  readonly time: Time;
  readonly config: Pick<ClusterConfig, 'greetingMs' | 'strangersMax'>;
  /** Takes a connection, of TLS or of plain TCP. */
  readonly inject: (connection: Socket) => void;
  readonly trouble: (peer: string, error: ClusterError) => void;
}

/** One accepted connection. Whoever is at its other end is a stranger until a greeting on it proved otherwise. */
export interface Accepted {
  binding(): Uint8Array;
  trust(): void;
  /** A stranger has had its answer: it is cut off as soon as that is on its way. A known peer stays. */
  dismiss(): void;
}

/** Longest that the last words to a stranger take to leave. */
const lastWordsMs = 1_000;

/**
 * Where connections of other nodes come in. Strangers are bounded in number and in time, from the first byte on:
 * TLS and HTTP/2 must be done, and the secret be proved, before the time is over. Where there are too many, the
 * address that has most of them loses its oldest, so that a flood from one place keeps nobody else out.
 */
export class LinkListener {
  readonly #parts: DoorParts;
  readonly #server: Server;
  readonly #connections = new Map<string, Connection>();
  readonly #strangers = new Set<Connection>();
  #announced = '';
  #endRenewals = (): void => undefined;

  constructor(parts: DoorParts) {
    this.#parts = parts;
    const { tls, config } = parts;
    if (tls === undefined) {
      this.#server = createPlainServer((socket) => {
        if (this.#admit(socket)) parts.inject(socket);
      });
      return;
    }
    const server = createTlsServer(serverTlsOptions(tls.current, config.greetingMs), (socket) => {
      const connection = this.#connections.get(nameOf(socket));
      // What breaks it is told to HTTP/2, which reads it, and ends it.
      socket.on('error', () => undefined);
      if (connection === undefined) socket.destroy();
      else {
        connection.secured = socket;
        parts.inject(socket);
      }
    });
    server.on('connection', (socket: Socket) => this.#admit(socket));
    this.#endRenewals = tls.onRenewed((next) => {
      server.setSecureContext(serverTlsOptions(next, config.greetingMs));
    });
    this.#server = server;
  }

  /** Resolves with the port. */
  listen(): Promise<number> {
    const { host, port } = this.#parts;
    return new Promise((resolve, reject) => {
      const failed = (cause: Error): void =>
        reject(
          new ClusterError('not_serving', `cannot listen on ${host}:${port}: ${cause.message}`, { cause }),
        );
      this.#server.once('error', failed);
      this.#server.listen({ host: host.replace(/^\[(.*)\]$/, '$1'), port }, () => {
        this.#server.off('error', failed);
        // Out of file descriptors, for one: the next connection may be accepted again.
        this.#server.on('error', (cause) => {
          this.#parts.trouble(`${host}:${port}`, new ClusterError('overloaded', cause.message, { cause }));
        });
        const bound = this.#server.address();
        resolve(typeof bound === 'object' && bound !== null ? bound.port : port);
      });
    });
  }

  /** The address at which others were told to dial. */
  announce(address: string): void {
    this.#announced = address;
  }

  /** By the name that gRPC gives the peer of a call; nothing if it is gone already. */
  of(peer: string): Accepted | undefined {
    return this.#connections.get(peer);
  }

  close(): void {
    this.#endRenewals();
    this.#server.close();
    for (const connection of this.#connections.values()) connection.cut();
  }

  #admit(socket: Socket): boolean {
    // What breaks it is told to HTTP/2, which reads it, and ends it.
    socket.on('error', () => undefined);
    const name = nameOf(socket);
    if (socket.remoteAddress === undefined || this.#connections.has(name)) {
      socket.destroy();
      return false;
    }
    const { time, config } = this.#parts;
    const connection: Connection = new Connection(socket, {
      time,
      greetingMs: config.greetingMs,
      noStranger: () => this.#strangers.delete(connection),
      plain: () => plainBinding(this.#announced),
    });
    this.#connections.set(name, connection);
    this.#strangers.add(connection);
    socket.once('close', () => {
      connection.forget();
      this.#connections.delete(name);
    });
    socket.setNoDelay(true);
    if (this.#strangers.size > config.strangersMax) this.#makeRoom();
    return true;
  }

  #makeRoom(): void {
    const byAddress = new Map<string, Connection[]>();
    let most: Connection[] = [];
    for (const stranger of this.#strangers) {
      const same = byAddress.get(stranger.address) ?? [];
      same.push(stranger);
      byAddress.set(stranger.address, same);
      if (same.length > most.length) most = same;
    }
    const [oldest] = most;
    if (oldest === undefined) return;
    const says = `over ${this.#parts.config.strangersMax} connections have not proved themselves`;
    this.#parts.trouble(oldest.address, new ClusterError('overloaded', says));
    oldest.cut();
  }
}

interface ConnectionParts {
  readonly time: Time;
  readonly greetingMs: number;
  noStranger(): void;
  plain(): Uint8Array;
}

class Connection implements Accepted {
  readonly address: string;
  readonly #socket: Socket;
  readonly #parts: ConnectionParts;
  #isStranger = true;
  #timer: Timer;
  secured: TLSSocket | undefined;

  constructor(socket: Socket, parts: ConnectionParts) {
    this.#socket = socket;
    this.#parts = parts;
    this.address = socket.remoteAddress ?? '';
    this.#timer = parts.time.after(parts.greetingMs, () => this.cut());
  }

  binding(): Uint8Array {
    return this.secured === undefined ? this.#parts.plain() : tlsBinding(this.secured);
  }

  trust(): void {
    this.forget();
  }

  /** It is no stranger any more: known, or gone. */
  forget(): void {
    this.#isStranger = false;
    this.#timer.cancel();
    this.#parts.noStranger();
  }

  dismiss(): void {
    if (!this.#isStranger) return;
    this.#timer.cancel();
    this.#timer = this.#parts.time.after(lastWordsMs, () => this.cut());
  }

  cut(): void {
    this.forget();
    this.secured?.destroy();
    this.#socket.destroy();
  }
}

function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}:${remotePort}`;
}
