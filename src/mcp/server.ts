import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type ServerOptions,
} from '@modelcontextprotocol/server';
import { didYouMean } from '../kernel/closest-name.js';
import { PlatformError, tooManyRequests } from '../kernel/errors.js';
import type { Time } from '../../cluster/index.js';
import { unexpected } from '../http/operations/index.js';
import { chatTool } from './chat/chat-tool.js';
import type { ChatRunner } from './chat/run-chat.js';
import type { Completions } from './prompts/completions.js';
import { promptList, promptOf } from './prompts/prompts.js';
import type { ClientRequest } from './client-request.js';
import { isShown, narrowed } from './narrowing.js';
import { ProgressReport } from './progress.js';
import type { RunningCalls } from './running-calls.js';
import type { Resources } from './resources/resources.js';
import { boundedAnswer } from './tools/bounded-answer.js';
import type { ToolRunner } from './tools/call-tool.js';
import type { CompiledTool, ToolCatalogue } from './tools/catalogue.js';
import { refusalOf, resultOf } from './tools/tool-result.js';
import type { Arguments } from './tools/tool.js';

export interface McpServerParts {
  readonly version: string;
  readonly catalogue: ToolCatalogue;
  readonly runner: ToolRunner;
  readonly chats: ChatRunner;
  readonly resources: Resources;
  readonly completions: Completions;
  readonly running: RunningCalls;
  readonly time: Time;
  readonly platformErrorOf: (error: unknown) => PlatformError | undefined;
  readonly report: (attempted: string, error: unknown) => void;
}

const instructions =
  'Troupe hosts agents, their triggers, conversations and costs. Start with list_agents; read platform://docs/overview ' +
  'for the model of objects and platform://docs/errors for what errors mean. Lists are paged: pass next_cursor as cursor.';

/** Lists change only with a deployment. */
const listTtlMs = 300_000;

const listHint = { ttlMs: listTtlMs, cacheScope: 'private' } as const;

/** Earlier revisions have no stream for updates over independent requests, so they are offered no subscriptions. */
function options(subscribe: boolean): ServerOptions {
  return {
    capabilities: {
      tools: { listChanged: false },
      resources: { listChanged: false, subscribe },
      prompts: { listChanged: false },
      completions: {},
    },
    instructions,
    cacheHints: {
      'tools/list': listHint,
      'prompts/list': listHint,
      'resources/list': listHint,
      'resources/templates/list': listHint,
    },
  };
}

const optionsOf = { modern: options(true), legacy: options(false) } as const;

/**
 * Builds the server of one request. A server object is never shared: answers of one client could reach another. What is
 * costly (schemas, lists) is made once and shared.
 */
export function serverFor(parts: McpServerParts, request: ClientRequest, era: 'legacy' | 'modern'): Server {
  const { catalogue, resources, completions } = parts;
  const server = new Server({ name: 'troupe', title: 'Troupe', version: parts.version }, optionsOf[era]);
  server.setRequestHandler('tools/list', () => ({
    tools: narrowed(catalogue.of(request.caller.role), request.narrowing).map(
      ({ listed }) => listed,
    ) as never,
  }));
  server.setRequestHandler('tools/call', ({ params }, context) =>
    callTool(parts, request, params.name, params.arguments ?? {}, context),
  );
  server.setRequestHandler('resources/list', () => ({ resources: [...resources.list] }));
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [...resources.templates],
  }));
  server.setRequestHandler('resources/read', ({ params }) => resources.read(request, params.uri));
  server.setRequestHandler('prompts/list', () => ({ prompts: promptList }));
  server.setRequestHandler('prompts/get', ({ params }) => promptOf(params.name, params.arguments ?? {}));
  server.setRequestHandler('completion/complete', async ({ params }) => ({
    completion: await completions.complete(request, params.argument.name, params.argument.value),
  }));
  return server;
}

async function callTool(
  parts: McpServerParts,
  request: ClientRequest,
  name: string,
  args: Arguments,
  context: ServerContext,
): Promise<CallToolResult> {
  const found = parts.catalogue.named(name);
  if (found === undefined || !isShown(found, request.narrowing)) throw unknownTool(parts, request, name);
  const call = parts.running.begin(request, context.mcpReq.id, context.mcpReq.signal);
  try {
    if (call === undefined) return refusalOf(tooManyCalls(parts));
    return await runTool(parts, request, found, args, context, call.signal);
  } catch (error) {
    return refusalOf(asPlatformError(parts, name, error));
  } finally {
    call?.end();
  }
}

async function runTool(
  parts: McpServerParts,
  { caller, requestId }: ClientRequest,
  found: CompiledTool,
  args: Arguments,
  context: ServerContext,
  signal: AbortSignal,
): Promise<CallToolResult> {
  if (found.tool === chatTool) {
    const progress = new ProgressReport(context, parts.time);
    const idempotencyKey = context.mcpReq._meta?.['idempotency_key'];
    const { answer, isError } = await parts.chats.run(args, {
      caller,
      signal,
      idempotencyKey:
        typeof idempotencyKey === 'string' && idempotencyKey !== '' ? idempotencyKey : undefined,
      onProgress: (message) => progress.tell(message),
    });
    await progress.finished();
    return resultOf(answer, isError);
  }
  const answer = await boundedAnswer(found.plan, args, (given) =>
    parts.runner.run(found, given, { caller, requestId, signal }),
  );
  return resultOf(answer);
}

function unknownTool({ catalogue }: McpServerParts, { caller }: ClientRequest, name: string): ProtocolError {
  const known = catalogue.of(caller.role).map(({ tool }) => tool.name);
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `There is no tool ${name.slice(0, 100)}.${didYouMean(name, known)} tools/list has the tools of this key.`,
  );
}

function tooManyCalls({ running, time }: McpServerParts): PlatformError {
  const nowMs = time.wallMs();
  const message = `This credential already runs ${running.callsMax} tools on this node, the maximum.`;
  return tooManyRequests(running.callsMax, { atMs: nowMs + 1_000, nowMs, message });
}

function asPlatformError(parts: McpServerParts, tool: string, error: unknown): PlatformError {
  const known = error instanceof PlatformError ? error : parts.platformErrorOf(error);
  if (known !== undefined) return known;
  parts.report(`running the MCP tool ${tool}`, error);
  return unexpected(error);
}
