// A program that speaks the protocol over its pipes, and the official client at the other end.
import { fileURLToPath } from 'node:url';
import type { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { type Era, newClient } from './mcp.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

export interface PipedClient {
  readonly client: Client;
  readonly pid: number;
  /** What the program wrote to its error stream. */
  readonly errors: () => string;
}

export async function pipedClient(
  t: { teardown(work: () => Promise<void>): void },
  environment: Readonly<Record<string, string>>,
  { era = 'modern', words = [] }: { readonly era?: Era; readonly words?: readonly string[] } = {},
): Promise<PipedClient> {
  const { PATH = '', HOME = '' } = process.env;
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [`${root}bin/troupe.mjs`, 'mcp', ...words],
    env: { PATH, HOME, ...environment },
    stderr: 'pipe',
  });
  let errors = '';
  transport.stderr?.on('data', (data) => (errors += String(data)));
  const client = newClient(era);
  await client.connect(transport);
  t.teardown(() => client.close());
  return { client, pid: transport.pid ?? 0, errors: () => errors };
}
