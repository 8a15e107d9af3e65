import createFetchClient, { type Client as PathClient } from 'openapi-fetch';
import type { CallOptions, Route } from './calls.js';
import type { Accepts } from './credentials.js';
import { refusalOf } from './errors.js';
import { type Operations, routes } from './generated/operations.js';
import type { operations, paths } from './generated/openapi.js';
import { callStream, type CallEvent } from './call-stream.js';
import { listing } from './listing.js';
import { liveFrames, realtimeEvents, type RealtimeEvent, type RealtimeOptions } from './realtime.js';
import type { ResumeOptions } from './resuming-stream.js';
import type { Frame } from './sse-reader.js';
import { type Surroundings, systemSurroundings } from './surroundings.js';
import { type Sending, Transport, type TransportOptions } from './transport.js';
import { Turn, type TurnOptions } from './turn.js';
import * as webhooks from './webhooks.js';
import { sendWebhook, type SendWebhookOptions } from './send-webhook.js';

export type ClientOptions = TransportOptions;

/** What a message to an agent may carry. */
export interface ChatInput {
  /** May be left out where there are attachments. */
  readonly message?: string;
  /** Continues a conversation. */
  readonly session_id?: string;
  readonly consumer_key?: string;
  readonly consumer_display_name?: string;
  readonly context?: Readonly<Record<string, unknown>>;
  readonly bindings?: Readonly<Record<string, unknown>>;
  readonly session_from?: readonly string[];
  readonly metadata?: Readonly<Record<string, string | number | boolean>>;
  readonly capabilities?: { readonly blocks?: readonly string[] };
  readonly options?: Readonly<Record<string, unknown>>;
  readonly attachments?: readonly Readonly<Record<string, unknown>>[];
}

type LlmInput = operations['llm.public-call'] extends {
  readonly requestBody?: { readonly content: { readonly 'application/json': infer Body } };
}
  ? Omit<Body, 'stream'>
  : never;

/** The functions that the document cannot describe. */
interface Streams {
  readonly agents: {
    /** Sends a message to an agent. Iterate the turn for its events, or await its `result()`. */
    chat(agentId: string, input: ChatInput | string, options?: TurnOptions): Turn;
  };
  readonly executions: {
    /** Reads a turn from its beginning, or on from an event, on any node and in any process. */
    follow(executionId: string, options?: TurnOptions & { readonly lastEventId?: string }): Turn;
  };
  readonly llm: {
    /** A model's answer while it comes. A failure after its first piece rejects, and so does a broken connection. */
    stream(input: LlmInput, options?: CallOptions): AsyncGenerator<CallEvent, void, undefined>;
  };
  readonly realtime: {
    /** The tenant's events until the signal aborts, without a gap over lost connections of up to ten minutes. */
    events(options?: RealtimeOptions): AsyncGenerator<RealtimeEvent, void, undefined>;
    /**
     * The frames of a stream that tells nothing of the past, such as `/api/v1/realtime/sessions`, until the signal
     * aborts. `onConnection('open')` says that what happened before was not told.
     */
    follow(path: string, options?: ResumeOptions): AsyncGenerator<Frame, void, undefined>;
  };
  readonly webhooks: typeof webhooks & {
    /** Signs a payload and sends it to a webhook trigger, as an outside system does. */
    send(triggerId: string, options: SendWebhookOptions): Promise<Response>;
  };
  /** Sends a request as it is, once, with this client's credentials. Answers whatever the status is. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Every path of the document, as `openapi-fetch` offers it, with this client's credentials and retries. */
  readonly api: PathClient<paths, 'application/json'>;
}

export type Client = Merged<Operations, Streams>;

type Merged<One, Other> = {
  readonly [Name in keyof One | keyof Other]: (Name extends keyof One ? One[Name] : unknown) &
    (Name extends keyof Other ? Other[Name] : unknown);
};

export function createClient(options: ClientOptions, surroundings: Partial<Surroundings> = {}): Client {
  const whole = { ...systemSurroundings, ...surroundings };
  const transport = new Transport(options, whole);
  const groups: Record<string, Record<string, unknown>> = {};
  for (const [group, calls] of Object.entries(routes)) {
    groups[group] = Object.fromEntries(
      Object.entries(calls).map(([name, route]) => [name, methodOf(transport, route)]),
    );
  }
  const streams: { readonly [Group in Exclude<keyof Streams, 'api' | 'fetch'>]: Streams[Group] } = {
    agents: {
      chat: (agentId, input, turn = {}) =>
        new Turn(transport, { kind: 'message', sending: chatOf(agentId, input, turn, whole) }, turn),
    },
    executions: {
      follow: (executionId, { lastEventId, ...turn } = {}) =>
        new Turn(transport, { kind: 'execution', executionId, lastEventId }, turn),
    },
    llm: { stream: (input, call = {}) => callStream(transport, input, call) },
    realtime: {
      events: (realtime = {}) => realtimeEvents(transport, realtime),
      follow: (path, follow = {}) => liveFrames(transport, path, follow),
    },
    webhooks: {
      ...webhooks,
      send: (triggerId, send) => sendWebhook(transport, triggerId, send),
    },
  };
  for (const [group, calls] of Object.entries(streams)) groups[group] = { ...groups[group], ...calls };
  const send = async (request: Request): Promise<Response> => {
    const sending = await sendingOf(request, 'kuor', { signal: request.signal, retries: 0 });
    return transport.send(sending);
  };
  return { ...groups, fetch: send, api: pathClient(transport) } as unknown as Client;
}

interface Input {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

function methodOf(transport: Transport, [method, path, flags]: Route) {
  const request = pathRequest(transport, flags);
  const send = async (input: Input, call: CallOptions): Promise<unknown> => {
    const response = await request(method, path, input, call);
    if (!response.ok) throw await refusalOf(response, transport.surroundings.nowMs());
    return flags.includes('r') ? response : jsonOf(response);
  };
  if (!flags.includes('l')) return (input: Input = {}, call: CallOptions = {}) => send(input, call);
  return (input: Input = {}, call: CallOptions = {}) =>
    listing((cursor) =>
      send(cursor === undefined ? input : { ...input, query: { ...input.query, cursor } }, call),
    );
}

/** The address and the body are written by `openapi-fetch`; the transport sends them. */
function pathRequest(transport: Transport, flags: string) {
  const api = createFetchClient<Record<string, Record<string, never>>>({ baseUrl: nowhere });
  return async (method: string, path: string, input: Input, call: CallOptions): Promise<Response> => {
    let answer: Response | undefined;
    const headers = { ...call.headers };
    if (flags.includes('i')) {
      headers['idempotency-key'] = call.idempotencyKey ?? transport.surroundings.newId();
    }
    const init = {
      params: { path: input.path, query: input.query },
      ...(input.body === undefined ? {} : { body: input.body }),
      headers,
      fetch: async (request: Request) => {
        answer = await transport.send(await sendingOf(request, flags, call));
        // `openapi-fetch` would read the body; the caller of this function does.
        return new Response(null, { status: 204 });
      },
    };
    await api.request(method.toLowerCase() as never, path as never, init as never);
    if (answer === undefined) throw new Error(`${method} ${path} was not sent.`);
    return answer;
  };
}

/** Stands for the installation until the transport chooses its node. */
const nowhere = 'http://installation.invalid';

async function sendingOf(request: Request, flags: string, call: CallOptions): Promise<Sending> {
  const { pathname, search } = new URL(request.url);
  const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
  return {
    method: request.method,
    path: pathname + search,
    headers: request.headers,
    body,
    accepts: acceptsOf(flags),
    isWhole: !flags.includes('r'),
    signal: call.signal,
    retries: call.retries,
    timeoutMs: call.timeoutMs,
  };
}

function acceptsOf(flags: string): Accepts {
  return { key: flags.includes('k'), user: flags.includes('u'), operator: flags.includes('o') };
}

async function jsonOf(response: Response): Promise<unknown> {
  const text = await response.text();
  return text === '' ? undefined : (JSON.parse(text) as unknown);
}

/** All paths. An operation that the table does not know accepts any credential. */
function pathClient(transport: Transport): PathClient<paths, 'application/json'> {
  const flagsOf = new Map<string, string>();
  for (const calls of Object.values(routes))
    for (const [method, path, flags] of Object.values(calls)) flagsOf.set(`${method} ${path}`, flags);
  const api = createFetchClient<paths, 'application/json'>({ baseUrl: nowhere });
  api.use({
    onRequest: async ({ request, schemaPath }) => {
      const flags = flagsOf.get(`${request.method} ${schemaPath}`) ?? 'kuo';
      if (flags.includes('i') && !request.headers.has('idempotency-key'))
        request.headers.set('idempotency-key', transport.surroundings.newId());
      return transport.send(await sendingOf(request, flags, { signal: request.signal }));
    },
  });
  return api;
}

function chatOf(
  agentId: string,
  input: ChatInput | string,
  { idempotencyKey, cancelOnDisconnect, signal }: TurnOptions,
  { newId }: Surroundings,
): Sending {
  const query = cancelOnDisconnect === true ? '?cancel_on_disconnect=true' : '';
  return {
    method: 'POST',
    path: `/api/v2/agents/${encodeURIComponent(agentId)}/stream${query}`,
    headers: new Headers({
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey ?? newId(),
    }),
    body: new TextEncoder().encode(JSON.stringify(typeof input === 'string' ? { message: input } : input)),
    accepts: { key: true, user: true, operator: false },
    signal,
  };
}
