// A network between a client and a real server that a test can cut at chosen moments.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';

export type ProxyMode =
  /** Passes everything on. */
  | 'open'
  /** Passes requests on and cuts the connection when the answer comes: done, but unreported. */
  | 'cut-at-answer'
  /** Cuts the connection when a request arrives: not executed. */
  | 'cut-at-question'
  /** Passes nothing on and sends nothing. */
  | 'silent'
  /** Refuses new connections and cuts the old ones. */
  | 'down';

export class TcpProxy {
  mode: ProxyMode = 'open';
  /** How many more times a cutting mode cuts before the proxy opens again. */
  cutsLeft = Number.POSITIVE_INFINITY;
  /** The change of a request on its way, as by a network or pooler that garbles it. */
  alter: (question: Buffer) => Buffer = (question) => question;
  /** The same of an answer. */
  alterAnswer: (answer: Buffer) => Buffer = (answer) => answer;
  #target: URL;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: URL) {
    this.#target = target;
    this.#server = createServer((client) => this.#carry(client));
  }

  /** Answers once the proxy listens; `url` is `target` through the proxy. */
  static async before(target: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(new URL(target));
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('The proxy listens on TCP');
    const url = new URL(this.#target);
    url.hostname = '127.0.0.1';
    url.port = String(address.port);
    // What goes through a proxy shows what happens when nothing answers: within the time that a node allows by default.
    url.searchParams.delete('connect_timeout');
    return url.href;
  }

  /** New connections lead there, as where a name gets another address; those that are open stay. */
  lead(target: string): void {
    this.#target = new URL(target);
  }

  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.#server.close();
    this.cutAll();
    await once(this.#server, 'close');
  }

  #carry(client: Socket): void {
    if (this.mode === 'down') {
      client.destroy();
      return;
    }
    const server = connect(Number(this.#target.port), this.#target.hostname);
    const cut = (): void => {
      client.destroy();
      server.destroy();
      this.cutsLeft -= 1;
      if (this.cutsLeft <= 0) this.mode = 'open';
    };
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
    client.on('data', (bytes) => {
      if (this.mode === 'cut-at-question' || this.mode === 'down') cut();
      else if (this.mode !== 'silent') server.write(this.alter(bytes));
    });
    server.on('data', (bytes) => {
      if (this.mode === 'cut-at-answer' || this.mode === 'down') cut();
      else if (this.mode !== 'silent') client.write(this.alterAnswer(bytes));
    });
  }
}
