// The official client of the protocol, in both of its generations.
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

export const eras = ['legacy', 'modern'] as const;
export type Era = (typeof eras)[number];

interface AtEnd {
  teardown(work: () => Promise<void>): void;
}

export interface McpClientOptions {
  readonly era?: Era | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A client that is connected with a key. It ends with the test. */
export async function mcpClient(
  t: AtEnd,
  baseUrl: string,
  key: string,
  { era = 'modern', headers = {} }: McpClientOptions = {},
): Promise<Client> {
  const client = newClient(era);
  const transport = new StreamableHTTPClientTransport(new URL(`${baseUrl}/mcp`), {
    requestInit: { headers: { 'x-api-key': key, ...headers } },
  });
  await client.connect(transport);
  t.teardown(() => client.close());
  return client;
}

export function newClient(era: Era): Client {
  const mode = era === 'modern' ? 'auto' : 'legacy';
  return new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
}

/** The structured answer of a tool. */
export function structured({ structuredContent }: CallToolResult): Record<string, unknown> {
  return (structuredContent ?? {}) as Record<string, unknown>;
}
