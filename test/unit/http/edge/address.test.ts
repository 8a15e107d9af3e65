// The client address of a request: header lines over real sockets, and the rules of the walk.
import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'ava';
import { z } from 'zod';
import { AddressReader } from '../../../../src/http/edge/address.js';
import { anyone, declare } from '../../../../src/http/operations/index.js';
import { startEdge } from '../../../support/servers/edge.js';

const proxies = ['127.0.0.0/8', '10.0.0.0/8', '2001:db8:ffff::/48'];

/** The reader's result for a socket's address and header lines. */
function read(lines: readonly string[], socket: readonly number[] = [127, 0, 0, 1]): string {
  return new AddressReader(proxies).read(Uint8Array.from(socket).buffer, {
    forEach(callback) {
      callback('host', 'x');
      for (const line of lines) callback('x-forwarded-for', line);
    },
  });
}

test('all lines of X-Forwarded-For are one list, and a first line from the client does not count', async (t) => {
  const addresses: string[] = [];
  const operation = declare({
    name: 'a.b',
    method: 'GET',
    path: '/thing',
    title: 'Thing',
    access: anyone(),
    output: z.object({}),
    handle: ({ caller }) => {
      addresses.push(caller.address);
      return {};
    },
  });
  const edge = await startEdge([operation], { trustedProxies: ['127.0.0.0/8'] });
  t.teardown(edge.close);
  for (const lines of [
    ['198.51.100.1', '203.0.113.9'],
    ['', '203.0.113.9'],
    ['198.51.100.1, 198.51.100.2', '203.0.113.9', '127.0.0.5'],
  ]) {
    const socket = connect(edge.port, '127.0.0.1');
    const headers = lines.map((line) => `X-Forwarded-For: ${line}\r\n`).join('');
    socket.end(`GET /thing HTTP/1.1\r\nhost: x\r\n${headers}\r\n`);
    socket.resume();
    await once(socket, 'close');
  }
  t.deepEqual(addresses, ['203.0.113.9', '203.0.113.9', '203.0.113.9']);
});

test('the walk from the right ends at the first address that is not a trusted proxy', (t) => {
  t.is(read(['198.51.100.1, 203.0.113.9, 10.1.2.3']), '203.0.113.9');
  t.is(read(['198.51.100.1', '203.0.113.9', '10.1.2.3, 127.0.0.2']), '203.0.113.9');
  t.is(read(['10.1.2.3, 10.4.5.6']), '10.1.2.3', 'a client within the trusted ranges is the leftmost');
  t.is(read([]), '127.0.0.1');
  t.is(read(['198.51.100.1'], [192, 0, 2, 1]), '192.0.2.1', 'a stranger is not believed');
});

test('an entry that is not an address ends the walk at the last valid one', (t) => {
  for (const entry of [
    'unknown',
    '_hidden',
    '127.1',
    '0x7f000001',
    '256.1.1.1',
    'fe80::1%eth0',
    '1.2.3.4:x',
  ]) {
    t.is(read([`198.51.100.1, ${entry}, 10.1.2.3`]), '10.1.2.3', entry);
    t.is(read([`198.51.100.1, ${entry}`]), '127.0.0.1', entry);
  }
  t.is(read(['198.51.100.1,, 203.0.113.9 ,']), '203.0.113.9', 'an empty element of a list is none');
});

test('ports and brackets are read, and every address has one spelling', (t) => {
  t.is(read(['203.0.113.9:50312']), '203.0.113.9');
  t.is(read(['[2001:DB8::1]:443']), '2001:db8::1');
  t.is(read(['2001:0db8:0::1']), '2001:db8::1');
  t.is(read(['::ffff:203.0.113.9']), '203.0.113.9');
  t.is(read(['203.0.113.9, 2001:db8:ffff::7']), '203.0.113.9');
  t.is(read(['203.0.113.9'], [...new Uint8Array(10), 255, 255, 127, 0, 0, 1]), '203.0.113.9');
  t.is(read(['203.0.113.9'], []), 'unknown');
});
