import { type Role, roles } from '../kernel/caller.js';
import type { CompiledTool } from './tools/catalogue.js';

/** The tools that a client asked for: fewer than its role allows, never more. */
export interface Narrowing {
  readonly toolsets: ReadonlySet<string> | undefined;
  readonly tools: ReadonlySet<string> | undefined;
  readonly readOnly: boolean;
}

/** The headers that narrow. The command `troupe mcp` sends them too. */
export const narrowingHeaders = ['x-mcp-toolsets', 'x-mcp-tools', 'x-mcp-readonly', 'x-mcp-role'] as const;

export function narrowingOf(headers: Readonly<Record<string, string>>): Narrowing {
  const { 'x-mcp-toolsets': toolsets, 'x-mcp-tools': tools, 'x-mcp-readonly': readOnly = '' } = headers;
  return {
    toolsets: namesIn(toolsets),
    tools: namesIn(tools),
    readOnly: readOnly !== '' && /^(?:1|true|on)$/i.test(readOnly),
  };
}

/** The role of the request: the named one if it is lower than that of the credential. */
export function loweredRole(own: Role, named: string | undefined): Role {
  if (named === undefined || named === '') return own;
  const asked = roles.find((role) => role === named.toLowerCase());
  return asked !== undefined && roles.indexOf(asked) > roles.indexOf(own) ? asked : own;
}

/** Whether all tools of the role are shown. */
export function isWhole({ toolsets, tools, readOnly }: Narrowing): boolean {
  return toolsets === undefined && tools === undefined && !readOnly;
}

export function narrowed(tools: readonly CompiledTool[], narrowing: Narrowing): readonly CompiledTool[] {
  return isWhole(narrowing) ? tools : tools.filter((one) => isShown(one, narrowing));
}

export function isShown({ tool, toolset }: CompiledTool, { toolsets, tools, readOnly }: Narrowing): boolean {
  if (toolsets !== undefined && !toolsets.has(toolset)) return false;
  if (tools !== undefined && !tools.has(tool.name)) return false;
  return !readOnly || tool.hints.includes('R');
}

/** The headers of the request that leave a tool out. */
export function leftOutBy(one: CompiledTool, { toolsets, tools, readOnly }: Narrowing): readonly string[] {
  const none = { toolsets: undefined, tools: undefined, readOnly: false };
  return Object.entries({
    'X-MCP-Toolsets': { ...none, toolsets },
    'X-MCP-Tools': { ...none, tools },
    'X-MCP-Readonly': { ...none, readOnly },
  }).flatMap(([header, narrowing]) => (isShown(one, narrowing) ? [] : [header]));
}

function namesIn(header: string | undefined): ReadonlySet<string> | undefined {
  if (header === undefined || header === '' || header.trim() === '') return undefined;
  return new Set(header.split(',').map((name) => name.trim().toLowerCase()));
}
