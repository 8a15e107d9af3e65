// What a client over pipes hears when the server ends its answer early, or sends it elsewhere.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { systemTime } from '../../../cluster/index.js';
import { StdioBridge } from '../../../src/mcp/stdio/bridge.js';

type Answer = (response: ServerResponse) => void;

async function portOf(t: ExecutionContext, answer: Answer): Promise<number> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => answer(response));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

const streamed =
  (...events: readonly object[]): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  };

async function bridged(t: ExecutionContext, answer: Answer, sent: object): Promise<readonly unknown[]> {
  const port = await portOf(t, answer);
  const lines: unknown[] = [];
  let isAnswered = (): void => undefined;
  const answered = new Promise<void>((resolve) => (isAnswered = resolve));
  const bridge = new StdioBridge({
    upstream: { baseUrl: `http://127.0.0.1:${port}`, apiKey: 'sk', headers: {} },
    clock: systemTime,
    input: (async function* () {
      yield Buffer.from(`${JSON.stringify(sent)}\n`);
      await answered;
    })(),
    write: async (line) => {
      const message = JSON.parse(line) as { readonly id?: unknown };
      lines.push(message);
      if ('id' in message) isAnswered();
    },
    log: () => undefined,
  });
  await bridge.run();
  return lines;
}

const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'chat_with_agent' } };
const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } };

test('a stream that ends without the answer is an error of the call', async (t) => {
  const [first, last] = await bridged(t, streamed(progress), call);
  t.deepEqual(first, progress);
  t.like(last, { id: 7, error: { code: -32_603 } });
});

test('a stream with the answer is passed on as it is', async (t) => {
  const answer = { jsonrpc: '2.0', id: 7, result: { content: [] } };
  t.deepEqual(await bridged(t, streamed(progress, answer), call), [progress, answer]);
});

test('a redirect is an error that names both addresses, and the key goes to the first alone', async (t) => {
  let isAsked = false;
  const elsewhere = await portOf(t, (response) => {
    isAsked = true;
    response.end();
  });
  const location = `http://127.0.0.1:${elsewhere}/mcp`;
  const [answer] = await bridged(t, (response) => response.writeHead(308, { location }).end(), call);
  t.like(answer, { id: 7, error: { code: -32_603 } });
  const { message } = (answer as { readonly error: { readonly message: string } }).error;
  t.true(message.includes(`redirects to ${location}`), message);
  t.false(isAsked);
});
