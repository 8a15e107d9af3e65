import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'ava';
import { answerJson, startToolServer } from '../../support/servers/tool-servers.js';

test('a client that breaks off while it sends disturbs a tool server and its test in nothing', async (t) => {
  const server = await startToolServer(t, (_, response) => answerJson(response, {}));
  const { hostname, port } = new URL(server.url);
  const client = connect(Number(port), hostname);
  client.write('POST /cut HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\nexpect: 100-continue\r\n\r\n12');
  // The server reads the body.
  await once(client, 'data');
  client.resetAndDestroy();
  const { status } = await fetch(`${server.url}/whole`, { method: 'POST', body: '12345' });
  t.is(status, 200);
  t.deepEqual(
    server.heard.map(({ path, body }) => [path, body]),
    [['/whole', '12345']],
  );
});
