import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import { type EgressFailure, EgressError } from '../../../src/infra/egress/index.js';

/** Of the servers that outbound calls reach in tests. */
export const host = '127.0.0.1';

export async function listen(t: ExecutionContext, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.listen(0, host);
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

export async function serve(t: ExecutionContext, listener: RequestListener): Promise<string> {
  return `http://${host}:${await listen(t, createServer(listener))}`;
}

/** A server that sends these bytes to every client, and then runs `then`. */
export async function say(
  t: ExecutionContext,
  text: string,
  then: (socket: Socket) => void = () => undefined,
) {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(text);
      then(socket);
    });
  });
  return `http://${host}:${await listen(t, server)}/`;
}

export async function fails(
  t: ExecutionContext,
  call: Promise<unknown>,
  failure: EgressFailure,
): Promise<EgressError> {
  const error = await t.throwsAsync(call, { instanceOf: EgressError });
  t.is(error?.failure, failure, error?.message);
  if (error === undefined) throw new Error('unreachable');
  return error;
}
