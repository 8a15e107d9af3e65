import { createMcpHandler, type McpHttpHandler, ProtocolError } from '@modelcontextprotocol/server';
import { z } from 'zod';
import {
  anyone,
  declare,
  eventStream,
  type Operation,
  type OperationRequest,
  RawReply,
  refuseLongText,
  type StreamReply,
  tenantCaller,
} from '../http/operations/index.js';
import { isLoopbackAddress } from '../kernel/address.js';
import type { TenantCaller } from '../kernel/caller.js';
import { PlatformError } from '../kernel/errors.js';
import type { ClientRequest } from './client-request.js';
import { directAnswer } from './direct-call.js';
import { attachmentsIn, type Message, messageIn } from './message.js';
import { checkNames } from './request-bounds.js';
import { rpcAnswerShape, rpcErrorShape, rpcRequestShape } from './rpc-shapes.js';
import { loweredRole, narrowingHeaders, narrowingOf } from './narrowing.js';
import { type McpServerParts, serverFor } from './server.js';
import { rowsNamedIn, type SubscriptionParts, TenantChanges } from './subscriptions.js';
import { UnsentFrames } from './unsent-frames.js';

/** Room for attachments, as on the endpoints that the tools mirror. */
const bodyBytesMax = 20 * 1024 * 1024;
/** The most bytes without them. */
const textBytesMax = 4 * 1024 * 1024;
/** The code of a message that is no request. */
const invalidRequest = -32_600;

/** Headers of the protocol that the library checks against the body. */
const protocolHeaders = [
  'accept',
  'content-type',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'mcp-session-id',
] as const;

export interface EndpointParts extends SubscriptionParts {
  readonly server: () => McpServerParts;
  readonly publicUrl: () => string;
  readonly corsOrigins: readonly string[];
  /** Aborts when the node is leaving: subscriptions end, and their clients connect to another node. */
  readonly stopping: AbortSignal;
  /** The issuer at which people sign in with a browser, if there is one. */
  readonly oidcIssuer: string | undefined;
  /** The session header of earlier revisions. The server keeps no state for it; it distinguishes the calls of clients. */
  readonly newId: () => string;
}

/** The endpoint of MCP over HTTP. Requests are independent of each other, so that any node answers any request. */
export function mcpOperations(parts: EndpointParts): readonly Operation[] {
  return [
    declare({
      name: 'mcp.request',
      method: 'POST',
      audit: { exempt: 'the operation that a tool calls leaves the entry' },
      path: '/mcp',
      title: 'Model Context Protocol over streamable HTTP',
      description:
        'Tools, resources and prompts for managing the tenant, by the role of the credential. Protocol revisions ' +
        '2026-07-28, 2025-11-25 and 2025-06-18.',
      access: tenantCaller(null),
      challenge: () => `Bearer resource_metadata="${metadataUrl(parts)}"`,
      bodyRules: { form: 'raw', maxBytes: bodyBytesMax, textBytesMax },
      headers: ['origin', ...protocolHeaders, ...narrowingHeaders],
      output: z.unknown(),
      shown: {
        body: rpcRequestShape,
        bodyExample: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
        output: rpcAnswerShape,
        events: rpcAnswerShape,
        errors: { 400: rpcErrorShape },
      },
      handle: (request) => serve(parts, request),
    }),
    declare({
      name: 'mcp.protected-resource',
      method: 'GET',
      path: '/.well-known/oauth-protected-resource',
      title: 'OAuth metadata of the MCP endpoint',
      access: anyone(),
      rate: 'uncounted',
      output: z.looseObject({ resource: z.string() }),
      handle: () => protectedResource(parts),
    }),
    declare({
      name: 'mcp.protected-resource-of-path',
      method: 'GET',
      path: '/.well-known/oauth-protected-resource/mcp',
      title: 'OAuth metadata of the MCP endpoint, at the address that its path gives',
      access: anyone(),
      rate: 'uncounted',
      output: z.looseObject({ resource: z.string() }),
      handle: () => protectedResource(parts),
    }),
  ];
}

function protectedResource({ publicUrl, oidcIssuer }: EndpointParts) {
  return {
    resource: `${publicUrl().replace(/\/+$/, '')}/mcp`,
    ...(oidcIssuer === undefined ? {} : { authorization_servers: [oidcIssuer] }),
    bearer_methods_supported: ['header'],
    resource_name: 'Troupe',
  };
}

function metadataUrl({ publicUrl }: EndpointParts): string {
  return `${publicUrl().replace(/\/+$/, '')}/.well-known/oauth-protected-resource/mcp`;
}

type McpRequest = OperationRequest<TenantCaller>;

async function serve(parts: EndpointParts, request: McpRequest): Promise<RawReply | StreamReply> {
  refuseForeignOrigin(parts, request.headers['origin'] ?? '');
  const server = parts.server();
  let message: Message;
  try {
    message = messageIn(request.rawBody);
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'The body is not valid JSON.';
    return new RawReply('application/json', protocolError(-32_700, `Parse error: ${reason}`), {
      status: 400,
    });
  }
  const { body, fault, refusal } = message;
  refuseLongText(request.rawBody, attachmentsIn(body), textBytesMax);
  const client = clientRequestOf(request, fault);
  try {
    checkNames(body);
    if (refusal !== undefined) throw refusal;
  } catch (error) {
    return refusalOf(error, body);
  }
  const direct = directAnswer(server, client, body, request.headers, () => request.signal);
  if (direct !== undefined) return direct;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    // Only unsupported older revisions have batches. A batch would count as one request and run many calls.
    return new RawReply('application/json', protocolError(invalidRequest, 'The body must be one message.'), {
      status: 400,
    });
  }
  await server.cancellations.take(client, body);
  const method: unknown = Reflect.get(body, 'method');
  const isListening = method === listenMethod;
  const unsent = new UnsentFrames();
  let bus: TenantChanges | undefined;
  try {
    if (isListening) bus = await TenantChanges.open(parts, client.caller, rowsNamedIn(body), unsent);
  } catch (error) {
    return refusalOf(error, body);
  }
  const left = new AbortController();
  const leave = (): void => {
    left.abort();
    bus?.close();
  };
  const done = (): void => {
    parts.stopping.removeEventListener('abort', leave);
    bus?.close();
  };
  request.signal.addEventListener('abort', leave, { once: true });
  // After all that may refuse the request, which would leave its listener on the node.
  if (isListening) parts.stopping.addEventListener('abort', leave, { once: true });
  // An aborted signal fires no event.
  if (request.signal.aborted || (isListening && parts.stopping.aborted)) leave();
  try {
    const handler = handlerFor(server, client, unsent, bus);
    const response = await handler.fetch(webRequestOf(parts, request, left.signal), { parsedBody: body });
    const headers = method === 'initialize' ? { 'Mcp-Session-Id': parts.newId() } : {};
    return await replyOf(response, { unsent, leave, done, headers });
  } catch (error) {
    done();
    throw error;
  }
}

/** The answer of the protocol to a request that breaks it. Other errors have the form of the platform. */
function refusalOf(error: unknown, body: unknown): RawReply {
  if (!(error instanceof ProtocolError)) throw error;
  const { code, message } = error;
  // An id that is refused itself is not repeated.
  const isNamed = typeof body === 'object' && body !== null && code !== invalidRequest;
  const id: unknown = isNamed ? Reflect.get(body, 'id') : undefined;
  return new RawReply('application/json', protocolError(code, message, id ?? null), { status: 400 });
}

/** Refuses requests that a page of another site sends, even if the browser adds a valid credential. */
function refuseForeignOrigin({ corsOrigins, publicUrl }: EndpointParts, origin: string): void {
  if (origin === '' || corsOrigins.includes(origin)) return;
  const own = new URL(publicUrl());
  // Tools that a developer runs on the same machine have pages at other ports.
  if (origin === own.origin || (isLoopback(own.hostname) && isLoopback(hostOf(origin)))) return;
  throw new PlatformError('insufficient_permissions', {
    message: `The origin ${origin.slice(0, 200)} may not use this endpoint. Add it to TROUPE_CORS_ORIGINS if it should.`,
    details: { origin: origin.slice(0, 200) },
  });
}

function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).hostname : '';
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || isLoopbackAddress(host.replace(/^\[|\]$/g, ''));
}

function clientRequestOf(
  { caller, headers, requestId }: McpRequest,
  fault: PlatformError | undefined,
): ClientRequest {
  const role = loweredRole(caller.role, headers['x-mcp-role']);
  return {
    caller: role === caller.role ? caller : { ...caller, role },
    narrowing: narrowingOf(headers),
    requestId,
    clientSession: headers['mcp-session-id'] ?? '',
    fault,
  };
}

function handlerFor(
  server: McpServerParts,
  client: ClientRequest,
  unsent: UnsentFrames,
  bus: TenantChanges | undefined,
): McpHttpHandler {
  const report = (error: Error): void => server.report('answering an MCP request', error);
  return createMcpHandler(({ era }) => serverFor(server, client, era, unsent), {
    onerror: (error) => {
      // A request that breaks the protocol is the client's fault; its answer says so, and the log does not.
      if (error.name !== 'Error' && error.name !== 'UnsupportedProtocolVersionError') report(error);
    },
    ...(bus === undefined ? {} : { bus }),
  });
}

const listenMethod = 'subscriptions/listen';

function webRequestOf({ publicUrl }: EndpointParts, { headers }: McpRequest, signal: AbortSignal): Request {
  const passed = new Headers();
  for (const name of protocolHeaders) {
    const value = headers[name];
    if (value !== undefined && value !== '') passed.set(name, value);
  }
  return new Request(`${publicUrl().replace(/\/+$/, '')}/mcp`, { method: 'POST', headers: passed, signal });
}

interface Sending {
  readonly unsent: UnsentFrames;
  /** Ends the work for the answer. */
  readonly leave: () => void;
  /** The answer is complete. */
  readonly done: () => void;
  readonly headers: Readonly<Record<string, string>>;
}

/** The library's answer in the form that the edge sends: whole, or as a stream. */
async function replyOf(
  response: Response,
  { unsent, leave, done, headers }: Sending,
): Promise<RawReply | StreamReply> {
  const contentType = response.headers.get('content-type') ?? 'application/json';
  const { body, status } = response;
  if (body === null || !contentType.startsWith('text/event-stream')) {
    const text = await response.text();
    done();
    return new RawReply(contentType, text, { status, headers });
  }
  const run = unsent.of(body, leave);
  return eventStream((writer) => run(writer).finally(done), headers, '');
}

function protocolError(code: number, message: string, id: unknown = null): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });
}
