import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type ServerOptions,
} from '@modelcontextprotocol/server';
import { didYouMean } from '../kernel/closest-name.js';
import type { Cancellations } from './cancellations.js';
import type { Completions } from './prompts/completions.js';
import { promptList, promptOf } from './prompts/prompts.js';
import type { ClientRequest } from './client-request.js';
import { isShown, leftOutBy, narrowed } from './narrowing.js';
import type { Resources } from './resources/resources.js';
import { callTool, type CallToolParts } from './tools/call-tool.js';
import type { ToolCatalogue } from './tools/catalogue.js';
import { resultOf } from './tools/tool-result.js';
import type { Arguments } from './tools/tool.js';
import type { UnsentFrames } from './unsent-frames.js';

export interface McpServerParts extends CallToolParts {
  readonly version: string;
  readonly catalogue: ToolCatalogue;
  readonly resources: Resources;
  readonly completions: Completions;
  readonly cancellations: Cancellations;
  /** How long clients may keep a list. */
  readonly listHint: typeof listHint;
}

const instructions =
  'Troupe hosts agents, their triggers, conversations and costs. Start with list_agents; read platform://docs/overview ' +
  'for the model of objects and platform://docs/errors for what errors mean. Lists are paged: pass next_cursor as cursor.';

/** Lists change only with a deployment. */
const listTtlMs = 300_000;

export const listHint = { ttlMs: listTtlMs, cacheScope: 'private' } as const;

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
 * Builds the server of one request. A server object is never shared: answers of one client could reach another. Costly
 * parts (schemas, lists) are made once and shared.
 */
export function serverFor(
  parts: McpServerParts,
  request: ClientRequest,
  era: 'legacy' | 'modern',
  unsent: UnsentFrames,
): Server {
  const { catalogue, resources, completions } = parts;
  const server = new Server({ name: 'troupe', title: 'Troupe', version: parts.version }, optionsOf[era]);
  server.setRequestHandler('tools/list', () => ({
    tools: narrowed(catalogue.of(request.caller.role), request.narrowing).map(
      ({ listed }) => listed,
    ) as never,
  }));
  server.setRequestHandler('tools/call', ({ params }, context) =>
    called(parts, request, params, context, unsent),
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

async function called(
  parts: McpServerParts,
  request: ClientRequest,
  { name, arguments: args = {} }: { readonly name: string; readonly arguments?: Arguments | undefined },
  { mcpReq }: ServerContext,
  unsent: UnsentFrames,
): Promise<CallToolResult> {
  const found = parts.catalogue.named(name);
  if (found === undefined || !isShown(found, request.narrowing)) throw missingTool(parts, request, name);
  const { id, signal, _meta: meta } = mcpReq;
  const token = meta?.progressToken;
  const outcome = await callTool(parts, request, found, args, {
    id,
    left: () => signal,
    idempotencyKey: meta?.['idempotency_key'],
    progress:
      token === undefined ? undefined : { token, unsent, notify: (message) => mcpReq.notify(message) },
  });
  return resultOf(outcome);
}

/** Tells no more about tools than their list, with and without the headers that shorten it, tells the role. */
function missingTool(
  { catalogue }: McpServerParts,
  { caller, narrowing }: ClientRequest,
  name: string,
): ProtocolError {
  const ofRole = catalogue.of(caller.role);
  const leftOut = ofRole.find(({ tool }) => tool.name === name);
  const known = narrowed(ofRole, narrowing).map(({ tool }) => tool.name);
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    leftOut === undefined
      ? `There is no tool ${name.slice(0, 100)}.${didYouMean(name, known)} tools/list has the tools of this key.`
      : `This connection does not offer the tool ${name}: it is left out by ${leftOutBy(leftOut, narrowing).join(' and ')}. ` +
          'tools/list has the tools of this connection.',
  );
}
