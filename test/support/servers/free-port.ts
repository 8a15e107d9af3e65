import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that systems assign by default (Linux begins at 32,768): no process gets one of these by chance between
 * the look-up and its use, or while the server on it is down. A Redis Cluster takes a second port 10,000 above.
 */
const [lowest, highest] = [12_000, 22_000];
/** Of each test process; those that run at the same time have numbers near each other. */
const ownCount = 100;

const first = lowest + ((process.pid * ownCount) % (highest - lowest));
let taken = 0;

/** A loopback port that was free a moment ago, and that is not given again soon: not here, and not by another test. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + (taken++ % ownCount);
    if (await isFree(port)) return port;
  }
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
