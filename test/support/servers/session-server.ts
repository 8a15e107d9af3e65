// An MCP server of the kind that keeps a session for each client, by the official package.
import { randomUUID } from 'node:crypto';
import { McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { type HeardRequest, startToolServer } from './tool-servers.js';

export interface SessionServer {
  readonly url: string;
  /** Sessions that were opened, by their ids. */
  readonly opened: readonly string[];
  /** Sessions that their clients have ended. */
  readonly ended: readonly string[];
  /** The session of each call that a tool was reached by. */
  readonly called: readonly string[];
  /** As a server does that was started anew. */
  forget(): void;
}

/** Offers `echo`, and `hang`, which never answers. Connections are not kept. */
export async function startSessionServer(t: {
  teardown(work: () => Promise<void>): void;
}): Promise<SessionServer> {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const opened: string[] = [];
  const ended: string[] = [];
  const called: string[] = [];

  async function open(): Promise<WebStandardStreamableHTTPServerTransport> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      onsessioninitialized: (id) => {
        opened.push(id);
        sessions.set(id, transport);
      },
      onsessionclosed: (id) => void ended.push(id),
    });
    const server = new McpServer({ name: 'test', version: '1' });
    const note = (): void => void called.push(transport.sessionId ?? 'none');
    server.registerTool('echo', { inputSchema: z.looseObject({ text: z.string().optional() }) }, (args) => {
      note();
      return { content: [{ type: 'text', text: JSON.stringify(args) }] };
    });
    server.registerTool('hang', {}, () => {
      note();
      return new Promise(() => undefined);
    });
    await server.connect(transport);
    return transport;
  }

  async function answer(request: HeardRequest): Promise<Response> {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (id !== undefined && known === undefined) return new Response('no such session', { status: 404 });
    const transport = known ?? (await open());
    const headers = Object.entries(request.headers).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value] as [string, string]] : [],
    );
    const body = request.body === '' ? {} : { body: request.body };
    return transport.handleRequest(
      new Request(`${url}${request.path}`, { method: request.method, headers, ...body }),
    );
  }

  const { url } = await startToolServer(t, async (request, response) => {
    const made = await answer(request);
    response.writeHead(made.status, { ...Object.fromEntries(made.headers), connection: 'close' });
    response.end(Buffer.from(await made.arrayBuffer()));
  });
  return { url: `${url}/mcp`, opened, ended, called, forget: () => sessions.clear() };
}
