// A balancer of connections, as stands before the nodes of an installation: it knows nothing of what they carry.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

interface AtEnd {
  teardown(work: () => Promise<void>): void;
}

export interface Balancer {
  readonly url: string;
}

/** Leads each connection to the first node that takes it. A connection ends with its node. */
export async function startBalancer(t: AtEnd, urls: readonly string[]): Promise<Balancer> {
  const targets = urls.map((url) => new URL(url));
  const open = new Set<Socket>();
  const keep = (socket: Socket): void => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  };
  const lead = (client: Socket, [target, ...others]: readonly URL[]): void => {
    if (target === undefined) return void client.destroy();
    const node = connect({ host: target.hostname, port: Number(target.port) });
    let connected = false;
    keep(node);
    node.once('connect', () => {
      connected = true;
      client.pipe(node).pipe(client);
    });
    node.on('error', () => (connected ? client.destroy() : lead(client, others)));
    node.once('close', () => connected && client.destroy());
    client.once('close', () => node.destroy());
  };
  const server = createServer((client) => {
    keep(client);
    // A client that goes away is no fault.
    client.on('error', () => undefined);
    lead(client, targets);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
