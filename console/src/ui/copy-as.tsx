import { Menu } from '@base-ui/react/menu';
import { Check, Code } from 'lucide-react';
import { buttonClass } from './button';
import { useCopied } from './copy-button';
import { MenuPopup, menuItemClass } from './menu';

/** One request to the API, as a person would repeat it outside of the console. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its parameters filled in. */
  readonly path: string;
  readonly body?: unknown;
  /** Asked with the operator token, not with a key of a tenant. */
  readonly operator?: true;
  /** The MCP tool with the same effect, and its arguments. */
  readonly mcp?: { readonly tool: string; readonly arguments: Readonly<Record<string, unknown>> };
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const credentialOf = ({
  operator,
}: ApiRequest): readonly [header: string, prefix: string, variable: string] =>
  operator === true
    ? ['Authorization', 'Bearer ', 'TROUPE_OPERATOR_TOKEN']
    : ['X-Api-Key', '', 'TROUPE_API_KEY'];

export function curlOf(request: ApiRequest, origin = location.origin): string {
  const { method, path, body } = request;
  const [header, prefix, variable] = credentialOf(request);
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(origin + path)}`,
    `-H "${header}: ${prefix}$${variable}"`,
  ];
  if (body !== undefined)
    lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`);
  return lines.join(' \\\n  ');
}

export function typeScriptOf(request: ApiRequest, origin = location.origin): string {
  const { method, path, body } = request;
  const [header, prefix, variable] = credentialOf(request);
  const value = prefix === '' ? `process.env.${variable}!` : `\`${prefix}\${process.env.${variable}}\``;
  const headers = [`${header.includes('-') ? `'${header}'` : header}: ${value}`];
  if (body !== undefined) headers.push("'Content-Type': 'application/json'");
  return [
    `const response = await fetch(${JSON.stringify(origin + path)}, {`,
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    `  headers: { ${headers.join(', ')} },`,
    ...(body === undefined
      ? []
      : [`  body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')}),`]),
    '});',
    'const answer = await response.json();',
  ].join('\n');
}

export function mcpOf({ mcp }: ApiRequest): string | undefined {
  if (mcp === undefined) return undefined;
  const call = { method: 'tools/call', params: { name: mcp.tool, arguments: mcp.arguments } };
  return JSON.stringify({ jsonrpc: '2.0', id: 1, ...call }, null, 2);
}

/** Copies what is shown as curl, TypeScript, or a call of an MCP tool. */
export function CopyAs({ request }: { readonly request: ApiRequest }) {
  const { copied, copy } = useCopied();
  const mcp = mcpOf(request);
  return (
    <Menu.Root>
      <Menu.Trigger className={buttonClass()}>
        {copied ? <Check size={14} aria-hidden /> : <Code size={14} aria-hidden />}
        {copied ? 'Copied' : 'Copy as'}
      </Menu.Trigger>
      <MenuPopup>
        <Menu.Item className={menuItemClass} onClick={() => copy(curlOf(request))}>
          curl
        </Menu.Item>
        <Menu.Item className={menuItemClass} onClick={() => copy(typeScriptOf(request))}>
          TypeScript
        </Menu.Item>
        {mcp !== undefined && (
          <Menu.Item className={menuItemClass} onClick={() => copy(mcp)}>
            MCP tool call
          </Menu.Item>
        )}
      </MenuPopup>
    </Menu.Root>
  );
}
