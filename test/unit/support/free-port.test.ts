import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import test from 'ava';
import { freePort } from '../../support/servers/free-port.js';

test('a port is given once, and neither one of another test nor one in use', async (t) => {
  const first = await freePort();
  const heldElsewhere = createSocket('udp4');
  heldElsewhere.bind({ port: first + 1, address: '127.0.0.1', exclusive: true });
  await once(heldElsewhere, 'listening');
  const inUse = createServer().listen(first + 2, '127.0.0.1');
  await once(inUse, 'listening');
  t.teardown(() => {
    heldElsewhere.close();
    inUse.close();
  });
  t.is(await freePort(), first + 3);
});
