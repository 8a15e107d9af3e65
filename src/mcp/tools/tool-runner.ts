import {
  allows,
  type Admission,
  JsonReply,
  lacksPermission,
  type Operation,
  type OperationRequest,
  type OperationTable,
  RawReply,
  validBody,
  validQuery,
} from '../../http/operations/index.js';
import type { TenantCaller } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import type { LeaveSignal } from '../../kernel/leave-signal.js';
import { type Ready, whenReady } from '../../kernel/ready.js';
import type { CompiledTool } from './catalogue.js';
import { missingArgument } from './input-plan.js';
import type { Answer, Arguments, OperationInput, ToolCall } from './tool.js';

const noBytes = new Uint8Array(0);

export interface ToolRunnerParts {
  readonly table: OperationTable;
  readonly admission: Admission;
}

export interface ToolRequest {
  readonly caller: TenantCaller;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/** Runs tools as operations: the same permission, validation and windows as a request to the REST endpoint. */
export class ToolRunner {
  readonly #parts: ToolRunnerParts;

  constructor(parts: ToolRunnerParts) {
    this.#parts = parts;
  }

  /** Answers at once if the operation does, like the edge: a promise for each step costs more than a small read. */
  run(compiled: CompiledTool, args: Arguments, request: ToolRequest): Ready<Answer> {
    const { tool, plan, operation } = compiled;
    const refusal = refusalOf(compiled, request.caller);
    if (refusal !== undefined) return refuse(compiled, args, request, refusal);
    for (const name of tool.required ?? []) {
      if (args[name] === undefined) throw missingArgument(name);
    }
    const input = plan.place(args, request.caller.scope.tenantId);
    if (tool.run === undefined) return this.#operation(operation, input, request);
    const call: ToolCall = {
      caller: request.caller,
      requestId: request.requestId,
      get signal() {
        return request.signal;
      },
      operation: async (name, other) => this.#operation(this.#parts.table.named(name), other, request),
    };
    return tool.run(call, input, args);
  }

  #operation(operation: Operation, input: OperationInput, request: ToolRequest): Ready<Answer> {
    const { caller } = request;
    return whenReady(requirePermission(operation, input.params, request), () => {
      const view = new OperationView(
        request,
        operation.params === undefined ? {} : validParams(operation, input.params),
        validQuery(operation, input.query),
        validBody(operation, input.body),
        input.headers,
      );
      return whenReady(this.#count(operation, caller), () =>
        whenReady(operation.handle(view), (answer) => plainAnswer(answer)),
      );
    });
  }

  /** The request itself was counted when it arrived; model work counts in the tenant's windows too. */
  #count({ rate }: Operation, caller: TenantCaller): Ready<void> {
    if (rate !== 'model-work') return;
    return whenReady(this.#parts.admission.admitModelWork(caller), ({ refusal }) => {
      if (refusal !== undefined) throw refusal;
    });
  }
}

/** A tool call as the operation sees it. The signal is created only when the handler uses it. */
class OperationView implements OperationRequest {
  readonly #request: ToolRequest;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly secretsTo = 'vault';
  readonly rawBody = noBytes;
  readonly rawQuery = '';

  constructor(
    request: ToolRequest,
    params: unknown,
    query: unknown,
    body: unknown,
    headers: Readonly<Record<string, string>>,
  ) {
    this.#request = request;
    this.params = params;
    this.query = query;
    this.body = body;
    this.headers = headers;
  }

  get caller(): TenantCaller {
    return this.#request.caller;
  }

  get requestId(): string {
    return this.#request.requestId;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  get leaving(): LeaveSignal {
    return this.#request.signal;
  }
}

function refusalOf({ tool, permission }: CompiledTool, { role }: TenantCaller): PlatformError | undefined {
  const isAdmin = role === 'owner' || role === 'admin';
  if ((isAdmin || tool.adminClass === undefined) && (permission === null || allows(role, permission)))
    return undefined;
  return new PlatformError('insufficient_permissions', {
    message: `The role ${role} may not use the tool ${tool.name}.`,
    details: { role, ...(permission === null ? {} : { permission }) },
  });
}

/** The entry names what the tool would have touched, where the arguments say it. */
async function refuse(
  { operation, plan }: CompiledTool,
  args: Arguments,
  { caller, requestId }: ToolRequest,
  refusal: PlatformError,
): Promise<never> {
  const params = plan.subject(args, caller.scope.tenantId);
  await operation.refused?.({ caller, params, requestId }, refusal);
  throw refusal;
}

/** Waits only for the audit entry of a refusal. */
function requirePermission(
  operation: Operation,
  params: unknown,
  { caller, requestId }: ToolRequest,
): Ready<void> {
  const { role } = caller;
  const { permission } = operation.access;
  if (permission === null || allows(role, permission)) return;
  const refusal = lacksPermission(role, permission);
  return (async () => {
    await operation.refused?.({ caller, params, requestId }, refusal);
    throw refusal;
  })();
}

function validParams(operation: Operation, params: Readonly<Record<string, string>>): unknown {
  const result = operation.params?.safeParse(params);
  if (result === undefined || result.success) return result?.data;
  // A malformed id cannot name an existing resource.
  throw new PlatformError(operation.absent);
}

/** The answer as an object: what is not JSON is shown with its status and content type. */
function plainAnswer(answer: unknown): Answer {
  if (answer instanceof JsonReply) return answer.body as Answer;
  if (!(answer instanceof RawReply)) return answer as Answer;
  const text = typeof answer.body === 'string' ? answer.body : Buffer.from(answer.body).toString('utf8');
  return { status: answer.status, content_type: answer.contentType, body: parsed(answer.contentType, text) };
}

function parsed(contentType: string, text: string): unknown {
  if (!contentType.startsWith('application/json')) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // A trigger's own answer may have this content type without being JSON.
    return text;
  }
}
