/** Calls the tools of an agent for its turns, by HTTP or by MCP. */
import { SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import type { Time } from '../../../cluster/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Egress, MayBegin } from '../../infra/egress/index.js';
import type { Expressions } from '../../infra/expressions/index.js';
import type { JsonObject } from '../../http/operations/index.js';
import { namedPlace, type Vault } from '../../tenancy/vault/index.js';
import { reasonOf } from '../checks.js';
import type { RunnableAgent } from '../running-agents.js';
import { forbiddenDestinations } from '../schemas/destinations.js';
import type { ApiTool, McpServer } from '../schemas/editor-schema.js';
import { schemaDocumentOf, type SnapshotSchema } from '../snapshot.js';
import { callApiTool } from './api-tool.js';
import { withContextDefaults } from './context-defaults.js';
import { authHeaders, secretReader, type SecretReader } from './credentials.js';
import { type SecretHider, secretHider } from '../../infra/diagnostics/index.js';
import { callServerTool } from './mcp-server.js';
import { textOfAnswer } from './server-answer.js';
import { ServerSessions } from './server-sessions.js';
import { shownText } from './shown-text.js';
import { ToolError } from './tool-error.js';
import { toolFailureOf } from './tool-failure.js';

export interface SchemaToolsParts {
  readonly vault: Pick<Vault, 'find' | 'resolve'>;
  readonly egress: Pick<Egress, 'fetchGuarded' | 'fetchLike'>;
  readonly expressions: Pick<Expressions, 'evaluate'>;
  readonly time: Time;
}

export interface SchemaToolCall {
  readonly scope: TenantScope;
  readonly schema: SnapshotSchema;
  /** The approved destinations of the agent to which the schema belongs. */
  readonly approved: RunnableAgent['approved'];
  /** The name of the tool of an MCP server; absent for an HTTP tool. */
  readonly tool?: string;
  readonly args: JsonObject;
  /** The context merged with the bindings. */
  readonly context: JsonObject;
  /** Refuses the call when the context lacks a value that the tool needs. */
  readonly strict: boolean;
  /** Lets the other side recognize a repeated call. MCP has no field for it. */
  readonly idempotencyKey?: string;
  /** Asked right before each request: false once another process may make the call. */
  readonly mayBegin?: MayBegin;
  readonly signal: AbortSignal;
}

export interface SchemaToolAnswer {
  /** The HTTP status; null for a tool of an MCP server. */
  readonly status: number | null;
  /** The text that the model is shown. */
  readonly text: string;
  readonly isError: boolean;
  readonly truncated: boolean;
  /** Names that the tool uses and that the context does not hold. */
  readonly missing: readonly string[];
}

export class SchemaTools {
  readonly #parts: SchemaToolsParts;
  readonly #sessions: ServerSessions;

  constructor(parts: SchemaToolsParts) {
    this.#parts = parts;
    this.#sessions = new ServerSessions(parts.time);
  }

  /** Closes the idle sessions with MCP servers. */
  stop(): Promise<void> {
    return this.#sessions.stop();
  }

  /** Calls the tool once. Throws `ToolError`; a tool that reports a failure has answered. */
  async call(call: SchemaToolCall): Promise<SchemaToolAnswer> {
    await this.#guard(call);
    switch (call.schema.type) {
      case 'api':
        return this.#callApi(call.schema.editor_schema.api, call);
      case 'mcp':
        return this.#callServer(call.schema.editor_schema.mcp, call);
      case 'agent':
        throw new TypeError('a sub-agent is no tool that is called from here');
    }
  }

  /** A draft may name a secret whose destination was not approved. */
  async #guard({ scope, schema, approved }: SchemaToolCall): Promise<void> {
    if (approved === null) return;
    const [forbidden] = await forbiddenDestinations(
      schemaDocumentOf(schema),
      approved.get(schema.id) ?? [],
      (secret) => this.#parts.vault.find(scope, secret),
    );
    if (forbidden === undefined) return;
    throw new ToolError('secret', `The secret of the tool is not approved for ${namedPlace(forbidden)}.`);
  }

  async #callApi(tool: ApiTool, call: SchemaToolCall): Promise<SchemaToolAnswer> {
    const { args, context, strict, idempotencyKey, mayBegin, signal } = call;
    const answer = await callApiTool(this.#parts, tool, {
      scope: call.scope,
      args,
      context,
      secrets: secretReader(this.#parts.vault, call),
      strict,
      signal,
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      ...(mayBegin !== undefined && { mayBegin }),
    });
    return { ...answer, isError: answer.status >= 400 };
  }

  async #callServer(server: McpServer, call: SchemaToolCall): Promise<SchemaToolAnswer> {
    const { args, missing } = withContextDefaults(
      call.args,
      server.defaults_from_context ?? {},
      call.context,
    );
    if (call.strict && missing.length > 0) {
      throw new ToolError('context-missing', `The context does not contain ${missing.join(', ')}.`);
    }
    const { vault, egress, time } = this.#parts;
    const values: string[] = [];
    const secrets = secretReader(vault, call);
    const read: SecretReader = async (secret) => {
      const value = await secrets(secret);
      values.push(value.reveal());
      return value;
    };
    const headers = await authHeaders(server.auth, read);
    const hide = secretHider(values);
    const timeoutMs = server.call_timeout_ms;
    // One time limit covers the greeting and the call, which each have a limit of their own.
    const clock = new ServerClock(time, timeoutMs, call.signal);
    try {
      const { mayBegin } = call;
      const limits = { timeoutMs, signal: clock.signal, ...(mayBegin !== undefined && { mayBegin }) };
      const { tenantId } = call.scope;
      const access = { tenantId, server, headers, egress, ...limits };
      const answer = await callServerTool(access, call.tool ?? '', args, (...lent) =>
        this.#sessions.use(...lent),
      );
      const shown = shownText(textOfAnswer(answer), hide);
      return { status: null, ...shown, isError: answer.isError === true, missing };
    } catch (error) {
      throw serverFailure(error, clock.expired, timeoutMs, hide);
    } finally {
      clock.stop();
    }
  }
}

class ServerClock {
  readonly #controller = new AbortController();
  readonly #timer: { cancel(): void };
  readonly #outer: AbortSignal;
  expired = false;
  #isStopped = false;

  constructor(time: Time, timeoutMs: number, outer: AbortSignal) {
    this.#outer = outer;
    // After a stall of the event loop the timer runs before the sockets are read, and the answer may be there.
    this.#timer = time.after(timeoutMs, () => time.soon(() => this.#expire()));
    if (outer.aborted) this.#onOuter();
    else outer.addEventListener('abort', this.#onOuter, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer.cancel();
    this.#outer.removeEventListener('abort', this.#onOuter);
  }

  #expire(): void {
    if (this.#isStopped) return;
    this.expired = true;
    this.#controller.abort();
  }

  readonly #onOuter = (): void => this.#controller.abort(this.#outer.reason);
}

function serverFailure(error: unknown, expired: boolean, timeoutMs: number, hide: SecretHider): ToolError {
  if (expired || (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)) {
    const message = `The server did not answer within ${timeoutMs} ms.`;
    return new ToolError('timeout', message, { mayHaveArrived: true, cause: error });
  }
  const known = toolFailureOf(deepest(error));
  if (known instanceof ToolError) return known;
  const reason = hide(reasonOf(error)).slice(0, 300);
  return new ToolError('bad-answer', `The server sent an unexpected answer: ${reason}`, {
    mayHaveArrived: true,
    cause: error,
  });
}

/** The MCP package wraps the connection's error. */
function deepest(error: unknown): unknown {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  return toolFailureOf(inner) instanceof ToolError ? inner : error;
}
