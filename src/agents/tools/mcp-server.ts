import {
  Client,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import type { Egress } from '../../egress/index.js';
import type { McpServer } from '../schemas/editor-schema.js';
import type { ServerTool } from '../schemas/schemas.store.js';

export const serverToolsMax = 500;
const descriptionMax = 4_000;
const inputSchemaBytesMax = 64 * 1024;
const answerBytesMax = 4 * 1024 * 1024;

export interface ServerAccess {
  readonly server: McpServer;
  /** With the credential in them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly egress: Pick<Egress, 'fetchLike'>;
  /** Of each request to the server. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** What the server says it can do. */
export function listServerTools(access: ServerAccess): Promise<readonly ServerTool[]> {
  return withServer(access, async (client, options) => {
    const { tools } = await client.listTools(undefined, options);
    if (tools.length > serverToolsMax) {
      throw new Error(`it offers ${tools.length} tools, more than ${serverToolsMax}`);
    }
    return tools.map(({ name, description = '', inputSchema }) => {
      if (Buffer.byteLength(JSON.stringify(inputSchema)) > inputSchemaBytesMax) {
        throw new Error(
          `the input schema of ${name.slice(0, 100)} has more than ${inputSchemaBytesMax} bytes`,
        );
      }
      return { name, description: description.slice(0, descriptionMax), input_schema: inputSchema };
    });
  });
}

export type ServerAnswer = Awaited<ReturnType<Client['callTool']>>;

export function callServerTool(
  access: ServerAccess,
  tool: string,
  args: Readonly<Record<string, unknown>>,
): Promise<ServerAnswer> {
  return withServer(access, (client, options) =>
    client.callTool({ name: tool, arguments: { ...args } }, options),
  );
}

/** The schemas are the server's own: compiling them here would run its regular expressions on our time. */
const noValidation: jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};

interface RequestLimits {
  readonly timeout: number;
  readonly maxTotalTimeout: number;
  readonly signal: AbortSignal;
}

/** One connection for one purpose: whatever the server keeps for it ends with it. */
async function withServer<Result>(
  access: ServerAccess,
  work: (client: Client, options: RequestLimits) => Promise<Result>,
): Promise<Result> {
  const { server, headers, egress, timeoutMs, signal } = access;
  const options = { timeout: timeoutMs, maxTotalTimeout: timeoutMs, signal };
  const transport = new StreamableHTTPClientTransport(new URL(server.url), {
    fetch: egress.fetchLike({ timeoutMs, bodyBytesMax: answerBytesMax, redirectsMax: 0, signal }),
    requestInit: { headers: { ...headers } },
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 1_000,
      maxReconnectionDelay: 1_000,
      reconnectionDelayGrowFactor: 1,
    },
  });
  const client = new Client(
    { name: 'troupe', version: '1' },
    {
      // Servers of the present revision and of those before.
      versionNegotiation: { mode: 'auto' },
      jsonSchemaValidator: noValidation,
    },
  );
  try {
    await client.connect(transport, options);
    return await work(client, options);
  } finally {
    await endSession(transport);
    await client.close();
  }
}

/** A server that opened a session would otherwise keep it until it forgets it by itself. */
async function endSession(transport: StreamableHTTPClientTransport): Promise<void> {
  if (transport.sessionId === undefined) return;
  try {
    await transport.terminateSession();
  } catch {
    // Servers may refuse this, and one that has gone does not answer; the session ends there by its own clock.
  }
}
