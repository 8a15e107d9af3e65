import type { Time } from '../../../cluster/index.js';
import type { Egress } from '../../infra/egress/index.js';
import { type ErrorCode, invalidField, PlatformError } from '../../kernel/errors.js';
import type { Expressions } from '../../infra/expressions/index.js';
import type { JsonObject } from '../../http/operations/index.js';
import type { Store } from '../../infra/storage/index.js';
import { approves, mayNotSend, placeOfUrl, type Vault } from '../../tenancy/vault/index.js';
import type { Author } from '../author.js';
import { reasonOf } from '../checks.js';
import { callApiTool } from '../tools/api-tool.js';
import { withContextDefaults } from '../tools/context-defaults.js';
import { authHeaders, secretReader, type SecretReader } from '../tools/credentials.js';
import { hideIn, type SecretHider, secretHider } from '../../infra/diagnostics/index.js';
import { callServerTool, listServerTools, type ServerAccess } from '../tools/mcp-server.js';
import { textOfAnswer } from '../tools/server-answer.js';
import { shownText } from '../tools/shown-text.js';
import { ToolError, type ToolFailure } from '../tools/tool-error.js';
import { forbiddenDestinations } from './destinations.js';
import type { McpServer } from './editor-schema.js';
import type { Schemas } from './schemas.js';
import { recordFindings, type SchemaRow, type ServerTool } from './schemas.store.js';

export interface ToolTestParts {
  readonly store: Store;
  readonly vault: Pick<Vault, 'find' | 'resolve'>;
  readonly egress: Pick<Egress, 'fetchGuarded' | 'fetchLike'>;
  readonly expressions: Pick<Expressions, 'evaluate'>;
  readonly time: Time;
  readonly schemas: Schemas;
}

export interface ToolTestRequest {
  readonly args: JsonObject;
  readonly context: JsonObject;
  /** The name of the tool, for an MCP server. */
  readonly tool: string | undefined;
}

export interface ToolTestResult {
  /** The HTTP status; null for a tool of an MCP server. */
  readonly status: number | null;
  readonly failed: boolean;
  readonly result: string;
  readonly truncated: boolean;
  readonly missing: readonly string[];
  readonly latencyMs: number;
}

/** Calls tools of the working copy for its author. An editor's limits on secret destinations apply here too. */
export class ToolTest {
  readonly #parts: ToolTestParts;

  constructor(parts: ToolTestParts) {
    this.#parts = parts;
  }

  async test(
    author: Author,
    agentId: string,
    id: string,
    sample: ToolTestRequest,
    signal: AbortSignal,
  ): Promise<ToolTestResult> {
    const { schemas, time } = this.#parts;
    const row = await schemas.get(author, agentId, id);
    if (row.document.type === 'agent') {
      throw invalidField('type', 'a sub-agent cannot be called alone; chat with the agent to test it');
    }
    await this.#guard(author, row);
    const startedAtMs = time.monotonicMs();
    const result =
      row.document.type === 'api'
        ? await this.#callApi(author, row, sample, signal)
        : await this.#callServer(author, row.document.editor_schema.mcp, sample, signal);
    return { ...result, latencyMs: Math.round(time.monotonicMs() - startedAtMs) };
  }

  /** Asks an MCP server for its tools and stores them for the working copy. */
  async discover(
    author: Author,
    agentId: string,
    id: string,
    signal: AbortSignal,
  ): Promise<{ readonly server: McpServer; readonly tools: readonly ServerTool[]; readonly at: Date }> {
    const { schemas, store, time } = this.#parts;
    const row = await schemas.get(author, agentId, id);
    if (row.document.type !== 'mcp')
      throw invalidField('type', 'must be mcp: only MCP servers list their tools');
    await this.#guard(author, row);
    const server = row.document.editor_schema.mcp;
    const tools = await this.#withServer(
      author,
      server,
      signal,
      async (access, hide) => hideIn(await listServerTools(access), hide) as ServerTool[],
    );
    await store.inTenant(author.scope, (tx) =>
      recordFindings(author.scope, tx, agentId, {
        id,
        revision: row.revision,
        issues: undefined,
        tools: [...tools],
      }),
    );
    return { server, tools, at: new Date(time.wallMs()) };
  }

  async #guard(author: Author, { document, approved }: SchemaRow): Promise<void> {
    if (approves(author.role)) return;
    const find: Parameters<typeof forbiddenDestinations>[2] = (secret) =>
      this.#parts.vault.find(author.scope, secret);
    const [forbidden] = await forbiddenDestinations(document, approved, find);
    if (forbidden !== undefined) throw mayNotSend(forbidden);
  }

  async #callApi(author: Author, row: SchemaRow, { args, context }: ToolTestRequest, signal: AbortSignal) {
    if (row.document.type !== 'api') throw new TypeError('the schema is not an HTTP tool');
    try {
      const secrets = secretReader(this.#parts.vault, author);
      const call = { scope: author.scope, args, context, secrets, signal, strict: false };
      const answer = await callApiTool(this.#parts, row.document.editor_schema.api, call);
      const { status, text, truncated, missing } = answer;
      return { status, failed: status >= 400, result: text, truncated, missing };
    } catch (error) {
      throw refusalOf(error, 'editor_schema.api', row.document.editor_schema.api);
    }
  }

  async #callServer(
    author: Author,
    server: McpServer,
    { args, context, tool }: ToolTestRequest,
    signal: AbortSignal,
  ): Promise<Omit<ToolTestResult, 'latencyMs'>> {
    if (tool === undefined) {
      throw new PlatformError('missing_required_field', {
        message: 'tool is required for an MCP server: it names the tool to call.',
        details: { field: 'tool', issue: 'required' },
      });
    }
    if (server.allowed_tools?.includes(tool) === false) {
      throw invalidField('tool', 'is not in allowed_tools');
    }
    const filled = filledArguments(args, server, context);
    return this.#withServer(author, server, signal, async (access, hide) => {
      const answer = await callServerTool(access, tool, filled.args);
      const { text, truncated } = shownText(textOfAnswer(answer), hide);
      const failed = answer.isError === true;
      return { status: null, failed, result: text, truncated, missing: filled.missing };
    });
  }

  async #withServer<Result>(
    author: Author,
    server: McpServer,
    signal: AbortSignal,
    work: (access: ServerAccess, hide: SecretHider) => Promise<Result>,
  ): Promise<Result> {
    const { vault, egress } = this.#parts;
    const values: string[] = [];
    const secrets = secretReader(vault, author);
    const read: SecretReader = async (secret) => {
      const value = await secrets(secret);
      values.push(value.reveal());
      return value;
    };
    try {
      const headers = await authHeaders(server.auth, read);
      const { tenantId } = author.scope;
      const access = { tenantId, server, headers, egress, timeoutMs: server.call_timeout_ms, signal };
      return await work(access, secretHider(values));
    } catch (error) {
      if (error instanceof ToolError || error instanceof PlatformError) {
        throw refusalOf(error, 'editor_schema.mcp', server);
      }
      const reason = secretHider(values)(reasonOf(error)).slice(0, 300);
      throw new PlatformError('provider_error', {
        message: `The MCP server sent an unexpected answer: ${reason}`,
        details: { provider: hostOf(server.url), original_error: reason },
        cause: error,
      });
    }
  }
}

function filledArguments(args: JsonObject, server: McpServer, context: JsonObject) {
  try {
    return withContextDefaults(args, server.defaults_from_context ?? {}, context);
  } catch (error) {
    throw refusalOf(error, 'editor_schema.mcp', server);
  }
}

const places = {
  refused: 'arguments',
  secret: '.auth',
  'forbidden-address': '.url',
} as const satisfies Partial<Record<ToolFailure, string>>;

const codes = {
  'context-missing': 'CONTEXT_PARAM_MISSING',
  unreachable: 'provider_error',
  timeout: 'provider_timeout',
  'bad-answer': 'provider_error',
  overloaded: 'service_unavailable',
} as const satisfies Record<Exclude<ToolFailure, keyof typeof places>, ErrorCode>;

/** `at`: the tool's place in the schema, `url`: its address. */
function refusalOf(error: unknown, at: string, { url }: { readonly url: string }): unknown {
  if (!(error instanceof ToolError)) return error;
  const { failure, message } = error;
  // The error itself says whether the tenant or the node is overloaded, and when to retry.
  if (failure === 'overloaded' && error.cause instanceof PlatformError) return error.cause;
  if (!isPlaced(failure)) {
    const details = { provider: hostOf(url), original_error: message };
    return new PlatformError(codes[failure], { message, details, cause: error });
  }
  const named = places[failure];
  const field = named.startsWith('.') ? `${at}${named}` : named;
  return new PlatformError('validation_error', {
    message: `${field}: ${message}`,
    details: { field, issue: message },
    cause: error,
  });
}

function isPlaced(failure: ToolFailure): failure is keyof typeof places {
  return Object.hasOwn(places, failure);
}

/** Host and port contain no placeholders, so an address with placeholders can be parsed too. */
function hostOf(url: string): string {
  return placeOfUrl(new URL(url)).host;
}
