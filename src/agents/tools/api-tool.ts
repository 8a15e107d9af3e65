import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Egress, MayBegin } from '../../infra/egress/index.js';
import { PlatformError } from '../../kernel/errors.js';
import { ExpressionError, type Expressions } from '../../infra/expressions/index.js';
import type { JsonObject } from '../../http/operations/index.js';
import type { ApiTool } from '../schemas/editor-schema.js';
import { placeholdersIn } from '../schemas/placeholders.js';
import { apiRequest } from './api-request.js';
import { authHeaders, type SecretReader } from './credentials.js';
import { hideIn, type SecretHider, secretHider } from '../../infra/diagnostics/index.js';
import { FillBudget } from './fill-budget.js';
import { shownText } from './shown-text.js';
import { ToolError } from './tool-error.js';
import { toolFailureOf } from './tool-failure.js';

export interface ApiToolParts {
  readonly egress: Pick<Egress, 'fetchGuarded'>;
  readonly expressions: Pick<Expressions, 'evaluate'>;
}

export interface ApiToolCall {
  readonly scope: TenantScope;
  readonly args: JsonObject;
  /** The context merged with the bindings. */
  readonly context: JsonObject;
  readonly secrets: SecretReader;
  readonly signal: AbortSignal;
  /** Refuses the call when the tool names a value that the context does not hold. */
  readonly strict: boolean;
  /** Lets the other side recognize a repeated call. */
  readonly idempotencyKey?: string;
  /** Asked right before the request. */
  readonly mayBegin?: MayBegin;
}

export interface ApiToolAnswer {
  readonly status: number;
  /** The text that the model is shown. */
  readonly text: string;
  /** True if the answer was longer than the shown text. */
  readonly truncated: boolean;
  /** Names that the tool uses and that the context does not hold. */
  readonly missing: readonly string[];
}

const answerBytesMax = 1024 * 1024;

/** Calls an HTTP tool once. Throws `ToolError`; an error status of the other side is an answer like any other. */
export async function callApiTool(
  parts: ApiToolParts,
  tool: ApiTool,
  call: ApiToolCall,
): Promise<ApiToolAnswer> {
  const values: string[] = [];
  const read: SecretReader = async (secret) => {
    const value = await call.secrets(secret);
    values.push(value.reveal());
    return value;
  };
  const missing = new Set<string>();
  const credential = await authHeaders(tool.auth, read);
  const secrets = await namedSecrets(tool, read);
  const hide = secretHider(values);
  const request = apiRequest(tool, {
    args: call.args,
    context: call.context,
    secrets,
    missing: (name) => missing.add(name),
    budget: new FillBudget(),
  });
  if (call.strict && missing.size > 0) {
    throw new ToolError('context-missing', `The context does not contain ${[...missing].join(', ')}.`);
  }
  const answer = await send(parts.egress, tool, call, {
    ...request,
    holdsSecret: values.length > 0,
    headers: {
      ...request.headers,
      ...credential,
      ...(call.idempotencyKey === undefined ? {} : { 'idempotency-key': call.idempotencyKey }),
    },
  });
  const shown = await shownOf(parts.expressions, call.scope, tool, answer, hide);
  const { text, truncated } = shownText(shown, hide, tool.response?.max_chars);
  return { status: answer.status, text, truncated: answer.truncated || truncated, missing: [...missing] };
}

async function namedSecrets(tool: ApiTool, read: SecretReader): Promise<ReadonlyMap<string, string>> {
  const { url, headers, query, body } = tool;
  const found = new Map<string, string>();
  for (const { kind, name } of placeholdersIn([url, headers, query, body])) {
    if (kind === 'secret' && !found.has(name)) found.set(name, (await read(name)).reveal());
  }
  return found;
}

type Answer = Awaited<ReturnType<Egress['fetchGuarded']>>;

async function send(
  egress: ApiToolParts['egress'],
  tool: ApiTool,
  call: ApiToolCall,
  request: ReturnType<typeof apiRequest> & { readonly holdsSecret: boolean },
): Promise<Answer> {
  try {
    return await egress.fetchGuarded({
      url: request.url,
      method: tool.method,
      headers: { accept: 'application/json, text/*;q=0.9, */*;q=0.5', ...request.headers },
      ...(request.body === undefined ? {} : { body: request.body }),
      timeoutMs: tool.timeout_ms,
      share: call.scope.tenantId,
      bodyBytesMax: answerBytesMax,
      oversize: 'cut',
      holdsSecret: request.holdsSecret,
      ...(call.mayBegin !== undefined && { mayBegin: call.mayBegin }),
      signal: call.signal,
    });
  } catch (error) {
    throw toolFailureOf(error);
  }
}

async function shownOf(
  expressions: ApiToolParts['expressions'],
  scope: TenantScope,
  tool: ApiTool,
  answer: Answer,
  hide: SecretHider,
): Promise<string> {
  const select = tool.response?.select;
  if (answer.body.includes(0)) {
    return `The answer is not text: ${answer.body.byteLength} bytes of ${answer.headers['content-type'] ?? 'unknown type'}.`;
  }
  const text = answer.body.toString('utf8');
  if (select === undefined) return text;
  try {
    // Secrets are removed before the expression runs, because it could reverse or split a secret.
    const document = hiddenIn(jsonOf(text, answer.status), hide);
    const picked = await expressions.evaluate(scope, select, document);
    return typeof picked === 'string' ? picked : JSON.stringify(picked);
  } catch (cause) {
    if (cause instanceof ExpressionError) throw new ToolError('bad-answer', cause.message, { cause });
    // The tenant or the node has too much to evaluate. The call was made, and its answer is lost.
    if (cause instanceof PlatformError)
      throw new ToolError('overloaded', cause.message, { mayHaveArrived: true, cause });
    throw cause;
  }
}

function hiddenIn(document: unknown, hide: SecretHider): unknown {
  try {
    return hideIn(document, hide);
  } catch (cause) {
    // JSON.parse accepts deeper nesting than the recursive walks over its result, which then exhaust the stack.
    if (!(cause instanceof RangeError)) throw cause;
    throw new ToolError('bad-answer', 'The answer is nested too deeply for the JMESPath expression.', {
      cause,
    });
  }
}

function jsonOf(text: string, status: number): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new ToolError('bad-answer', `The answer (status ${status}) is not JSON.`, { cause });
  }
}
