import {
  allows,
  type Admission,
  JsonReply,
  type Operation,
  type OperationTable,
  RawReply,
  validBody,
  validQuery,
} from '../../http/operations/index.js';
import type { TenantCaller } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import type { CompiledTool } from './catalogue.js';
import type { Answer, Arguments, OperationInput, ToolCall } from './tool.js';

export interface ToolRunnerParts {
  readonly table: OperationTable;
  readonly admission: Admission;
  readonly keepSecret: (caller: TenantCaller, name: string, value: string) => Promise<void>;
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

  async run(compiled: CompiledTool, args: Arguments, request: ToolRequest): Promise<Answer> {
    const { tool, plan, operation } = compiled;
    requireRights(compiled, request.caller);
    for (const name of tool.required ?? []) {
      if (args[name] === undefined) throw missing(name);
    }
    const input = plan.place(args, request.caller.scope.tenantId);
    if (tool.run === undefined) return this.#operation(operation, input, request);
    const call: ToolCall = {
      caller: request.caller,
      requestId: request.requestId,
      get signal() {
        return request.signal;
      },
      operation: (name, other) => this.#operation(this.#parts.table.named(name), other, request),
      keepSecret: (name, value) => this.#parts.keepSecret(request.caller, name, value),
    };
    return tool.run(call, input, args);
  }

  async #operation(operation: Operation, input: OperationInput, request: ToolRequest): Promise<Answer> {
    const { caller, requestId } = request;
    requirePermission(operation, caller);
    const validated = {
      params: operation.params === undefined ? {} : validParams(operation, input.params),
      query: validQuery(operation, input.query),
      body: validBody(operation, input.body),
    };
    await this.#count(operation, caller);
    const answer = await operation.handle({
      ...validated,
      caller,
      rawBody: noBytes,
      rawQuery: '',
      headers: input.headers,
      requestId,
      // Made only if the handler looks at them.
      get signal() {
        return request.signal;
      },
      get leaving() {
        return request.signal;
      },
    });
    return plainAnswer(answer);
  }

  /** The request itself was counted when it arrived; model work counts in the tenant's windows too. */
  async #count({ rate }: Operation, caller: TenantCaller): Promise<void> {
    if (rate !== 'model-work') return;
    const { refusal } = await this.#parts.admission.admitModelWork(caller);
    if (refusal !== undefined) throw refusal;
  }
}

const noBytes = new Uint8Array(0);

function requireRights({ tool, permission }: CompiledTool, { role }: TenantCaller): void {
  const isAdmin = role === 'owner' || role === 'admin';
  if ((isAdmin || tool.adminClass === undefined) && (permission === null || allows(role, permission))) return;
  throw new PlatformError('insufficient_permissions', {
    message: `The role ${role} may not use the tool ${tool.name}.`,
    details: { role, ...(permission === null ? {} : { permission }) },
  });
}

function requirePermission({ access: { permission } }: Operation, { role }: TenantCaller): void {
  if (permission === null || allows(role, permission)) return;
  throw new PlatformError('insufficient_permissions', {
    message: `The role ${role} does not have the permission ${permission}.`,
    details: { permission, role },
  });
}

function validParams(operation: Operation, params: Readonly<Record<string, string>>): unknown {
  const result = operation.params?.safeParse(params);
  if (result === undefined || result.success) return result?.data;
  // A malformed id cannot name an existing resource.
  throw new PlatformError(operation.absent);
}

function missing(field: string): PlatformError {
  return new PlatformError('missing_required_field', {
    message: `${field} is required.`,
    details: { field, issue: 'required' },
  });
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
