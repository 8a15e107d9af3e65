import type { Client } from '@modelcontextprotocol/client';
import type { ServerTool } from '../schemas/schemas.store.js';
import { limitsOf, type RequestLimits, type ServerAccess, ServerSession } from './server-session.js';

export type { ServerAccess } from './server-session.js';

export const serverToolsMax = 500;
const descriptionMax = 4_000;
const inputSchemaBytesMax = 64 * 1024;

/** The tools that the server lists. */
export function listServerTools(access: ServerAccess): Promise<readonly ServerTool[]> {
  return once(access, async ({ client }, limits) => {
    const { tools } = await client.listTools(undefined, limits);
    if (tools.length > serverToolsMax) {
      throw new Error(`it lists ${tools.length} tools; the maximum is ${serverToolsMax}`);
    }
    return tools.map(({ name, description = '', inputSchema, annotations }) => {
      if (Buffer.byteLength(JSON.stringify(inputSchema)) > inputSchemaBytesMax) {
        throw new Error(
          `the input schema of ${name.slice(0, 100)} has more than ${inputSchemaBytesMax} bytes`,
        );
      }
      return {
        name,
        description: description.slice(0, descriptionMax),
        input_schema: inputSchema,
        ...((annotations?.readOnlyHint === true || annotations?.idempotentHint === true) && {
          repeatable: true,
        }),
      };
    });
  });
}

export type ServerAnswer = Awaited<ReturnType<Client['callTool']>>;

/** Lends a session for a call. */
export type SessionLender = <Result>(
  access: ServerAccess,
  work: (session: ServerSession, limits: RequestLimits) => Promise<Result>,
) => Promise<Result>;

export function callServerTool(
  access: ServerAccess,
  tool: string,
  args: Readonly<Record<string, unknown>>,
  lend: SessionLender = once,
): Promise<ServerAnswer> {
  return lend(access, ({ client }, limits) =>
    client.callTool({ name: tool, arguments: { ...args } }, limits),
  );
}

/** Tests and checks open a new session each time, so that they meet the server as a new client does. */
async function once<Result>(
  access: ServerAccess,
  work: (session: ServerSession, limits: RequestLimits) => Promise<Result>,
): Promise<Result> {
  const session = await ServerSession.open(access);
  try {
    return await work(session, limitsOf(access));
  } finally {
    await session.close();
  }
}
