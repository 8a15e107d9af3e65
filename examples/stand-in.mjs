// A server on this machine in place of somebody else's: each request goes to `answer`, whose result is sent as JSON.
import { createServer } from 'node:http';

export async function standIn(port, answer) {
  async function serve(request) {
    let body = '';
    for await (const chunk of request) body += chunk;
    const url = new URL(request.url, `http://127.0.0.1:${port}`);
    return answer({ url, body: body === '' ? undefined : JSON.parse(body) });
  }
  const server = createServer((request, response) => {
    const send = (status, result) => {
      response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
      response.end(JSON.stringify(result ?? {}));
    };
    serve(request).then(
      (result) => send(200, result),
      (error) => send(500, { error: String(error) }),
    );
  });
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  // Ends once the answers under way are sent, because no connection is kept.
  return { close: () => server.close() };
}
