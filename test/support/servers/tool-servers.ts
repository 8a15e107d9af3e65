// Real servers of the kind that agents call: plain HTTP, and the Model Context Protocol by its official package.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

interface AtEnd {
  teardown(work: () => Promise<void>): void;
}

export interface HeardRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface ToolServer {
  readonly url: string;
  readonly heard: readonly HeardRequest[];
}

/** Answers as the test says; records its requests. */
export async function startToolServer(
  t: AtEnd,
  answer: (request: HeardRequest, response: ServerResponse) => void | Promise<void>,
): Promise<ToolServer> {
  const heard: HeardRequest[] = [];
  const server = createServer((request, response) => {
    void serve(request, response);
  });
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(request);
    if (body === undefined) return;
    const one = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body,
    };
    heard.push(one);
    await answer(one, response);
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard };
}

/** Undefined if the client broke off while it sent. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  try {
    return (await buffer(request)).toString('utf8');
  } catch (error) {
    if (request.complete) throw error;
    return undefined;
  }
}

export function answerJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

/** A tool that does nothing and describes its action. */
export interface AnnotatedTool {
  readonly name: string;
  readonly description?: string;
  readonly annotations: { readonly readOnlyHint?: boolean; readonly idempotentHint?: boolean };
}

/** Offers `echo`, which answers its arguments, and `fail`. With a token, it refuses all others. */
export async function startMcpServer(
  t: AtEnd,
  token?: string,
  annotated: readonly AnnotatedTool[] = [],
): Promise<ToolServer> {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'test', version: '1' });
    server.registerTool(
      'echo',
      { description: 'Answers its arguments', inputSchema: z.looseObject({ text: z.string().optional() }) },
      (args) => ({ content: [{ type: 'text', text: JSON.stringify(args) }] }),
    );
    for (const tool of annotated) server.registerTool(tool.name, tool, () => ({ content: [] }));
    server.registerTool('fail', { description: 'Always fails' }, () => ({
      isError: true,
      content: [{ type: 'text', text: 'it went wrong' }],
    }));
    return server;
  });
  const server = await startToolServer(t, async (request, response) => {
    if (token !== undefined && request.headers['authorization'] !== `Bearer ${token}`) {
      // Like careless servers it quotes its input.
      response.writeHead(401, { 'content-type': 'text/plain' });
      response.end(`not let in: ${String(request.headers['authorization'])}`);
      return;
    }
    const answer = await handler.fetch(
      new Request(`${server.url}${request.path}`, {
        method: request.method,
        headers: Object.entries(request.headers).flatMap(([name, value]) =>
          typeof value === 'string' ? [[name, value] as [string, string]] : [],
        ),
        ...(request.body === '' ? {} : { body: request.body }),
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  t.teardown(() => handler.close());
  return { url: `${server.url}/mcp`, heard: server.heard };
}
