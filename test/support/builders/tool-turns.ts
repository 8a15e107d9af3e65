// Shared parts of tests with tools: scripts of a vendor, and its received input.
import type { Script, VendorServer } from '../servers/vendors/vendor-server.js';

let ids = 0;

/** An answer that calls these tools. Arguments that are a text are sent as they are. */
export function calling(...calls: readonly (readonly [string, unknown])[]): Script {
  return {
    pieces: [],
    toolCalls: calls.map(([name, args]) => ({
      id: `call_${++ids}`,
      name,
      args: [typeof args === 'string' ? args : JSON.stringify(args)],
    })),
  };
}

export function saying(...pieces: readonly string[]): Script {
  return { pieces };
}

interface ToldMessage {
  readonly role: string;
  readonly content: unknown;
  readonly tool_call_id?: string;
}

/** The messages of the last request that a server of OpenAI's kind was sent. */
export function lastMessages(server: VendorServer): readonly ToldMessage[] {
  return (server.requests.at(-1)?.body['messages'] ?? []) as ToldMessage[];
}

/** The tool results of the last model request, in order. */
export function lastResults(server: VendorServer): readonly string[] {
  return lastMessages(server)
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => String(content));
}

/** The names of the tools in the last request. */
export function lastTools(server: VendorServer): readonly string[] {
  const tools = (server.requests.at(-1)?.body['tools'] ?? []) as { function: { name: string } }[];
  return tools.map((tool) => tool.function.name);
}
