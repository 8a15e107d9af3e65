// The same tool on a bare server of the official package over Node's http, without credentials, limits or a log.
import { createServer } from 'node:http';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { serveBench } from '../support/servers.js';

const quota = { limit: 1_000_000, used: 0, remaining: 1_000_000, reset_date: '2030-01-01T00:00:00.000Z' };
const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'bare', version: '1' });
  server.registerTool('get_quota', { description: 'The quota', inputSchema: z.object({}) }, () => ({
    content: [{ type: 'text', text: JSON.stringify({ success: true, quota }) }],
    structuredContent: { success: true, quota },
  }));
  return server;
});

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => void chunks.push(chunk));
  request.on('end', () => {
    void (async () => {
      const headers = new Headers();
      for (const [name, value] of Object.entries(request.headers)) {
        if (typeof value === 'string') headers.set(name, value);
      }
      const body = Buffer.concat(chunks);
      const answer = await handler.fetch(
        new Request(`http://127.0.0.1${request.url}`, { method: 'POST', headers, body }),
      );
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.end(Buffer.from(await answer.arrayBuffer()));
    })();
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('cannot listen on 127.0.0.1');
  serveBench({ port: address.port, facts: { key: 'none' } }, async () => void server.close());
});
