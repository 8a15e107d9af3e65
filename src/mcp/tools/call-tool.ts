import type { Time } from '../../../cluster/index.js';
import { unexpected } from '../../http/operations/index.js';
import type { TenantCaller } from '../../kernel/caller.js';
import { PlatformError, tooManyRequests } from '../../kernel/errors.js';
import { chatTool } from '../chat/chat-tool.js';
import type { ChatRunner } from '../chat/run-chat.js';
import { isReady, type Ready } from '../../kernel/ready.js';
import type { ClientRequest } from '../client-request.js';
import { type ProgressListener, ProgressReport } from '../progress.js';
import type { RunningCall, RunningCalls } from '../running-calls.js';
import { boundedAnswer } from './bounded-answer.js';
import { type CompiledTool, isFor } from './catalogue.js';
import type { Arguments } from './tool.js';
import type { ToolRequest, ToolRunner } from './tool-runner.js';
import { outcomeOf, refusalOf, type ToolOutcome } from './tool-result.js';

export interface CallToolParts {
  readonly runner: ToolRunner;
  readonly chats: ChatRunner;
  readonly running: RunningCalls;
  readonly time: Time;
  readonly platformErrorOf: (error: unknown) => PlatformError | undefined;
  readonly report: (attempted: string, error: unknown) => void;
}

export interface CallContext {
  /** The id that the client gave its request. */
  readonly id: string | number;
  /** Aborts when the client closes its request. */
  readonly left: () => AbortSignal;
  readonly idempotencyKey: unknown;
  readonly progress: ProgressListener | undefined;
}

/**
 * Calls a tool for a client. A refusal is an outcome: the model reads it and corrects itself. Never throws or rejects.
 * Answers at once if the operation does.
 */
export function callTool(
  parts: CallToolParts,
  request: ClientRequest,
  found: CompiledTool,
  args: Arguments,
  context: CallContext,
): Ready<ToolOutcome> {
  const call = parts.running.begin(request, context.id, context.left);
  if (call === undefined) return refusalOf(tooManyCalls(parts), 'general');
  const refused = (error: unknown): ToolOutcome =>
    refusalOf(asPlatformError(parts, found.tool.name, error), found.operation.dialect);
  let outcome: Ready<ToolOutcome>;
  try {
    outcome = begun(parts, request, found, args, context, call);
  } catch (error) {
    outcome = refused(error);
  }
  if (!isReady(outcome)) return outcome.catch(refused).finally(() => call.end());
  call.end();
  return outcome;
}

function begun(
  parts: CallToolParts,
  request: ClientRequest,
  found: CompiledTool,
  args: Arguments,
  context: CallContext,
  call: RunningCall,
): Ready<ToolOutcome> {
  if (request.fault !== undefined && isFor(found, request.caller.role)) throw request.fault;
  if (found.tool === chatTool) return chat(parts, request, args, context, call.signal);
  const { caller, requestId } = request;
  return boundedAnswer(found.plan, args, (given) =>
    parts.runner.run(found, given, new LazyRequest(caller, requestId, call)),
  );
}

/** The part of the request that the tool's operation receives. */
class LazyRequest implements ToolRequest {
  readonly caller: TenantCaller;
  readonly requestId: string;
  readonly #call: RunningCall;

  constructor(caller: TenantCaller, requestId: string, call: RunningCall) {
    this.caller = caller;
    this.requestId = requestId;
    this.#call = call;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }
}

async function chat(
  parts: CallToolParts,
  { caller }: ClientRequest,
  args: Arguments,
  { idempotencyKey: key, progress }: CallContext,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const report = new ProgressReport(progress, parts.time);
  const { answer, isError } = await parts.chats.run(args, {
    caller,
    signal,
    idempotencyKey: typeof key === 'string' && key !== '' ? key : undefined,
    onProgress: (message) => report.update(message),
  });
  await report.finished();
  return outcomeOf(answer, isError);
}

function tooManyCalls({ running, time }: CallToolParts): PlatformError {
  const nowMs = time.wallMs();
  const message = `This credential already runs ${running.callsMax} tools on this node, the maximum.`;
  return tooManyRequests(running.callsMax, { atMs: nowMs + 1_000, nowMs, message });
}

function asPlatformError(parts: CallToolParts, tool: string, error: unknown): PlatformError {
  const known = error instanceof PlatformError ? error : parts.platformErrorOf(error);
  if (known !== undefined) return known;
  parts.report(`running the MCP tool ${tool}`, error);
  return unexpected(error);
}
