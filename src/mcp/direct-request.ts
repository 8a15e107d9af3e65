import type { Arguments } from './tools/tool.js';

/** The revision of the requests that are answered without the library. */
const revision = '2026-07-28';

const metaKeys = {
  version: 'io.modelcontextprotocol/protocolVersion',
  client: 'io.modelcontextprotocol/clientInfo',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
} as const;

/** A request that wants only its result: no progress, no stream. */
export type DirectRequest =
  | { readonly id: string | number; readonly method: 'tools/list' }
  | {
      readonly id: string | number;
      readonly method: 'tools/call';
      readonly name: string;
      readonly args: Arguments;
    };

/**
 * Undefined for every other body, and if the headers contradict the body. Checked by hand: a schema would take as long as
 * the read that is called.
 */
export function directRequestIn(
  body: unknown,
  headers: Readonly<Record<string, string>>,
): DirectRequest | undefined {
  if (!isObject(body) || !hasOnly(body, messageFields)) return undefined;
  const { jsonrpc, id, method, params } = body;
  if (jsonrpc !== '2.0' || !isObject(params)) return undefined;
  if (typeof id !== 'string' && !(typeof id === 'number' && Number.isSafeInteger(id))) return undefined;
  if (headers['mcp-protocol-version'] !== revision || headers['mcp-method'] !== method) return undefined;
  if (!acceptsBoth(headers['accept'] ?? '') || !isPlainMeta(params['_meta'])) return undefined;
  if (method === 'tools/list') return hasOnly(params, listFields) ? { id, method } : undefined;
  const { name, arguments: args = {} } = params;
  if (method !== 'tools/call' || !hasOnly(params, callFields)) return undefined;
  if (typeof name !== 'string' || headers['mcp-name'] !== name || !isObject(args)) return undefined;
  return { id, method, name, args };
}

const messageFields: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params']);
const listFields: ReadonlySet<string> = new Set(['_meta']);
const callFields: ReadonlySet<string> = new Set(['name', 'arguments', '_meta']);
const metaFields: ReadonlySet<string> = new Set(Object.values(metaKeys));

function acceptsBoth(accept: string): boolean {
  return accept.includes('application/json') && accept.includes('text/event-stream');
}

/** The library handles progress tokens, idempotency keys and unknown fields. */
function isPlainMeta(meta: unknown): boolean {
  if (!isObject(meta) || !hasOnly(meta, metaFields) || meta[metaKeys.version] !== revision) return false;
  const client = meta[metaKeys.client];
  if (!isObject(client) || !isObject(meta[metaKeys.capabilities])) return false;
  return typeof client['name'] === 'string' && typeof client['version'] === 'string';
}

type JsonObject = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hasOnly(value: JsonObject, names: ReadonlySet<string>): boolean {
  for (const name in value) if (!names.has(name)) return false;
  return true;
}
