import { createSocket, type Socket } from 'node:dgram';
import { type EventEmitter, once } from 'node:events';
import { createServer, type Server } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { freePort } from '../../support/servers/free-port.js';

/** Behind the last of the ports that are given, the first one follows. */
const lastPort = 21_999;

function udp(port: number): Socket {
  return createSocket('udp4').bind({ port, address: '127.0.0.1', exclusive: true });
}

function tcp(port: number): Server {
  return createServer().listen(port, '127.0.0.1');
}

/** Whether all of them could take their ports. */
async function haveBegun(sockets: readonly EventEmitter[]): Promise<boolean> {
  const beginnings = await Promise.allSettled(sockets.map((socket) => once(socket, 'listening')));
  return beginnings.every(({ status }) => status === 'fulfilled');
}

async function close(sockets: readonly (Socket | Server)[]): Promise<void> {
  const ends = sockets.map((socket) => once(socket, 'close'));
  for (const socket of sockets) socket.close();
  await Promise.all(ends);
}

/**
 * A given port, with the next one held as by another test, the one after it in use, and the third free. Tests
 * that run beside this one may have any of the three; then another port is given.
 */
async function givenBeforeTaken(t: ExecutionContext): Promise<number> {
  for (;;) {
    const first = await freePort();
    if (first + 3 > lastPort) continue;
    const heldElsewhere = udp(first + 1);
    // Held before they are listened on, so that this is in the way of no other test.
    const holders = [udp(first + 2), udp(first + 3)];
    if (!(await haveBegun([heldElsewhere, ...holders]))) {
      await close([heldElsewhere, ...holders]);
      continue;
    }
    const inUse = tcp(first + 2);
    const probe = tcp(first + 3);
    const isFree = await haveBegun([inUse, probe]);
    await close([probe, ...holders]);
    if (isFree) {
      t.teardown(() => {
        heldElsewhere.close();
        inUse.close();
      });
      return first;
    }
    await close([heldElsewhere, inUse]);
  }
}

test('a port is given once, and neither one of another test nor one in use', async (t) => {
  const first = await givenBeforeTaken(t);
  t.is(await freePort(), first + 3);
});
