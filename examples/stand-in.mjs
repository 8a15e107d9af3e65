// A server on this machine in place of somebody else's: each request goes to `answer`, whose result is sent as JSON.
import { createServer } from 'node:http';

export async function standIn(port, answer) {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const url = new URL(request.url, `http://127.0.0.1:${port}`);
    const given = { method: request.method, url, body: body === '' ? undefined : JSON.parse(body) };
    const result = await answer(given).catch((error) => ({ status: 500, error: String(error) }));
    response.writeHead(result?.status === 500 ? 500 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(result ?? {}));
  });
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
