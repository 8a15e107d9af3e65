import { type Role, roles } from '../kernel/caller.js';
import type { CompiledTool } from './tools/catalogue.js';

/** What a client asked to see: fewer tools than its role allows, never more. */
export interface Narrowing {
  readonly toolsets: ReadonlySet<string> | undefined;
  readonly tools: ReadonlySet<string> | undefined;
  readonly readOnly: boolean;
}

/** The headers that narrow. The command `troupe mcp` sends them too. */
export const narrowingHeaders = ['x-mcp-toolsets', 'x-mcp-tools', 'x-mcp-readonly', 'x-mcp-role'] as const;

export function narrowingOf(headers: Readonly<Record<string, string>>): Narrowing {
  return {
    toolsets: namesIn(headers['x-mcp-toolsets']),
    tools: namesIn(headers['x-mcp-tools']),
    readOnly: /^(?:1|true|on)$/i.test(headers['x-mcp-readonly'] ?? ''),
  };
}

/** The role of the request: the named one if it is lower than that of the credential. */
export function loweredRole(own: Role, named: string | undefined): Role {
  const asked = roles.find((role) => role === named?.toLowerCase());
  return asked !== undefined && roles.indexOf(asked) > roles.indexOf(own) ? asked : own;
}

export function narrowed(tools: readonly CompiledTool[], narrowing: Narrowing): readonly CompiledTool[] {
  const { toolsets, tools: names, readOnly } = narrowing;
  if (toolsets === undefined && names === undefined && !readOnly) return tools;
  return tools.filter((one) => isShown(one, narrowing));
}

export function isShown({ tool, toolset }: CompiledTool, { toolsets, tools, readOnly }: Narrowing): boolean {
  if (toolsets !== undefined && !toolsets.has(toolset)) return false;
  if (tools !== undefined && !tools.has(tool.name)) return false;
  return !readOnly || tool.hints.includes('R');
}

function namesIn(header: string | undefined): ReadonlySet<string> | undefined {
  if (header === undefined || header.trim() === '') return undefined;
  return new Set(header.split(',').map((name) => name.trim().toLowerCase()));
}
