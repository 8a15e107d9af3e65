// A TCP server on loopback that sends a test's bytes to a trusting client.
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

export interface HostileServer {
  readonly port: number;
  /** Handed to the sockets of all clients, before their connections ended. */
  readonly sent: number;
  readonly open: number;
  close(): Promise<void>;
}

/** `serve` is called with each client; it may write without end. */
export async function startHostileServer(
  serve: (socket: Socket) => void | Promise<void>,
): Promise<HostileServer> {
  const sockets = new Set<Socket>();
  let sent = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      sent += socket.bytesWritten;
    });
    void serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server listens on TCP');
  return {
    port: address.port,
    get sent() {
      return [...sockets].reduce((sum, socket) => sum + socket.bytesWritten, sent);
    },
    get open() {
      return sockets.size;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Writes the piece again and again, as fast as the client reads, up to so many bytes. */
export async function pour(socket: Socket, piece: Buffer, bytesMax: number): Promise<void> {
  for (let sent = 0; sent < bytesMax && !socket.destroyed; sent += piece.byteLength) {
    if (socket.write(piece)) continue;
    await new Promise<void>((resolve) => {
      const goOn = (): void => {
        socket.off('drain', goOn);
        socket.off('close', goOn);
        resolve();
      };
      socket.on('drain', goOn);
      socket.on('close', goOn);
    });
  }
}
