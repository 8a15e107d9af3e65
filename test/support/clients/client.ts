import { z } from 'zod';
import { type ErrorCode, errorKinds } from '../../../src/kernel/errors.js';
import { dialectOf, dialectOfPath } from '../../../src/http/edge/error-forms.js';
import { eventsIn, holdEvent } from './declared-events.js';
import {
  type Dialect,
  dialects,
  type OperationTable,
  Router,
  spelled,
} from '../../../src/http/operations/index.js';

export interface CallOptions {
  readonly key?: string;
  readonly token?: string;
  readonly tenant?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface CallResult {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The JSON body; undefined if the answer is not JSON. */
  readonly json: Json;
}

/** Tests look into bodies freely; that they have the declared shape is checked by `call`. */
export type Json = ReturnType<typeof JSON.parse>;

/** The errors of a dialect, with a code that the table has in that dialect. */
function errorShape(dialect: Dialect): z.ZodType {
  const codes = new Set(Object.keys(errorKinds).map((code) => spelled(code as ErrorCode, dialect)));
  const code = z.string().refine((given) => codes.has(given), `a code of the dialect ${dialect}`);
  const message = z.string().min(1);
  switch (dialect) {
    case 'telemetry':
      return z.strictObject({ error: z.strictObject({ code, message }) });
    case 'openai':
      return z.strictObject({
        error: z.strictObject({ code, message, type: z.string(), param: z.string().nullable() }),
      });
    case 'anthropic':
      return z.strictObject({
        type: z.literal('error'),
        error: z.strictObject({ type: z.string(), message, code }),
        request_id: z.string(),
      });
    default:
      return z.strictObject({
        error: code,
        message,
        details: z.record(z.string(), z.unknown()).optional(),
        status: z.literal('error'),
      });
  }
}

/** What does not follow the protocol of MCP is refused in the protocol's own form. */
const rpcError = z.object({
  jsonrpc: z.literal('2.0'),
  error: z.object({ code: z.int(), message: z.string().min(1) }),
});

const errorShapes = Object.fromEntries(dialects.map((dialect) => [dialect, errorShape(dialect)]));

/** Calls a node by HTTP and throws if an answer does not match its operation's declaration. */
export class Client {
  readonly baseUrl: string;
  readonly #router: Router;
  readonly #headers: Readonly<Record<string, string>>;

  /** `headers`: sent with every call. */
  constructor(baseUrl: string, table: OperationTable, headers: Readonly<Record<string, string>> = {}) {
    this.baseUrl = baseUrl;
    this.#router = new Router(table);
    this.#headers = headers;
  }

  async call(method: string, path: string, options: CallOptions = {}): Promise<CallResult> {
    const headers: Record<string, string> = { ...this.#headers, ...options.headers };
    if (options.key !== undefined) headers['x-api-key'] = options.key;
    if (options.token !== undefined) headers['authorization'] = `Bearer ${options.token}`;
    if (options.tenant !== undefined) headers['x-tenant-id'] = options.tenant;
    if (options.body !== undefined) headers['content-type'] ??= 'application/json';
    const response = await fetch(`${this.baseUrl}${path}`, {
      method,
      headers,
      redirect: 'manual',
      ...(options.body === undefined ? {} : { body: bodyOf(options.body) }),
    });
    const text = await response.text();
    // One document; an export is many, in `application/x-ndjson`.
    const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '');
    const result = {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson ? JSON.parse(text) : undefined,
    };
    this.#hold(method, path, headers, result);
    return result;
  }

  #hold(method: string, address: string, sent: Readonly<Record<string, string>>, result: CallResult): void {
    const [path = address] = address.split('?');
    for (const name of ['x-request-id', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
      if (!result.headers.has(name)) throw new Error(`${method} ${path}: the answer lacks ${name}`);
    }
    const found = this.#router.find(method, path);
    // A method that the address does not have is refused as its other operations refuse.
    const operation = found !== undefined && 'operation' in found ? found.operation : found?.[0];
    const asked = { path, anthropicVersion: sent['anthropic-version'] ?? '' };
    const dialect = operation === undefined ? dialectOfPath(asked) : dialectOf(operation.dialect, asked);
    if (result.status === 429) holdRefusal(method, path, result);
    const isRpc = operation?.name === 'mcp.request' && result.json?.jsonrpc !== undefined;
    const errorOf = isRpc ? rpcError : errorShapes[dialect];
    const isStream = result.headers.get('content-type')?.startsWith('text/event-stream');
    const events = operation?.shown.events;
    if (isStream === true && events !== undefined && errorOf !== rpcError) {
      for (const event of eventsIn(result.text)) if (!isFailure(event, dialect)) holdEvent(events, event);
    }
    const schema = result.status >= 400 ? errorOf : (operation?.shown.output ?? operation?.output);
    const checked =
      result.json === undefined && result.status < 400 ? undefined : schema?.safeParse(result.json);
    if (checked?.success === false) {
      throw new Error(
        `${method} ${path} answered ${result.status} ${result.text}, which is not as declared: ${checked.error.message}`,
      );
    }
  }
}

/** A stream of a compatible interface ends with the vendor's error if the call fails after its first piece. */
function isFailure(event: unknown, dialect: Dialect): boolean {
  const isCompatible = dialect === 'openai' || dialect === 'anthropic';
  return isCompatible && typeof event === 'object' && event !== null && 'error' in event;
}

const detailsOf429: Readonly<Record<string, readonly string[]>> = {
  rate_limit_exceeded: ['limit', 'remaining', 'reset', 'retry_after'],
  quota_exceeded: ['limit', 'reset_date', 'used'],
  budget: ['kind', 'limit_usd', 'resets_at', 'scope', 'spent_usd'],
};

/** A rate limit refusal contains the retry time and the figures. */
function holdRefusal(method: string, path: string, { headers, text, json }: CallResult): void {
  if (!(Number(headers.get('retry-after')) > 0))
    throw new Error(`${method} ${path}: 429 without Retry-After`);
  const isBudget = json.error === 'quota_exceeded' && json.details?.kind === 'budget';
  const wanted = detailsOf429[isBudget ? 'budget' : String(json.error)];
  const given = Object.keys(json.details ?? {}).toSorted();
  if (wanted !== undefined && given.join() !== wanted.join())
    throw new Error(`${method} ${path}: 429 without its details: ${text}`);
}

function bodyOf(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return body;
  return body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body);
}
