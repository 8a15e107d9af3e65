import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that systems assign by default (Linux begins at 32,768): no process gets one of these by chance between
 * the look-up and its use, or while the server on it is down. A Redis Cluster takes a second port 10,000 above.
 */
const [lowest, highest] = [12_000, 22_000];
/** Processes begin at different places, so that they rarely ask for the same port. */
let next = lowest + ((process.pid * 101) % (highest - lowest));

/** A free port of loopback that no other test process on this machine gets before this process has ended. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = next;
    next = port + 1 < highest ? port + 1 : lowest;
    if (await reserve(port)) return port;
  }
}

/**
 * Takes the UDP port of the same number and keeps it. No server of a test uses it, no two processes have it, and the end of
 * the process gives it back however it comes.
 */
async function reserve(port: number): Promise<boolean> {
  const holder = createSocket('udp4');
  const held = once(holder, 'listening').then(
    () => true,
    () => false,
  );
  holder.bind({ port, address: '127.0.0.1', exclusive: true });
  if ((await held) && (await isFree(port))) {
    holder.unref();
    return true;
  }
  holder.close();
  return false;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.listen(port, '127.0.0.1');
  if (!(await listening)) return false;
  server.close();
  await once(server, 'close');
  return true;
}
