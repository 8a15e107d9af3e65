import test from 'ava';
import { RawConnection } from '../support/clients/raw-http.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test('a beta header that no vendor can be sent is refused', async (t) => {
  const { node, bootstrap } = await shared.tenant(t);
  const body = JSON.stringify({
    model: 'sim.echo',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'hi' }],
  });
  const asked = async (beta: string): Promise<RawConnection> => {
    const connection = new RawConnection(t, Number(new URL(node.baseUrl).port));
    const head = [
      'POST /v1/messages HTTP/1.1',
      'host: troupe',
      `x-api-key: ${bootstrap.api_key}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
      `anthropic-beta: ${beta}`,
    ];
    await connection.send(`${head.join('\r\n')}\r\n\r\n${body}`).answered(JSON.stringify(beta));
    return connection;
  };
  const refused = await asked('tools-\x7f');
  t.deepEqual(refused.statuses, [400]);
  t.regex(refused.received, /anthropic-beta.{0,20}must have printable ASCII characters only/);
  t.deepEqual((await asked('tools-2024-05-16, context-1m-2025-08-07')).statuses, [200]);
});
