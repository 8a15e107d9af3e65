import * as uWS from 'uWebSockets.js';
import type { HttpRequest, HttpResponse, us_listen_socket } from 'uWebSockets.js';
import type { Random, Time } from '../../../cluster/index.js';
import { ByteBudget } from '../../kernel/byte-budget.js';
import { isLoopbackAddress, isLoopbackHost } from '../../kernel/address.js';
import { RequestTracing, traceHeaders } from '../../infra/diagnostics/index.js';
import { PlatformError } from '../../kernel/errors.js';
import type { Ready } from '../../kernel/ready.js';
import type { OperationTable, PublicKeyUse } from '../operations/index.js';
import { type Match, type Operation, publicKeyParameter, Router } from '../operations/index.js';
import { AddressReader } from './address.js';
import { defaultBounds, type EdgeBounds } from './bounds.js';
import { Connections } from './connections.js';
import { CrossOrigin } from './cors.js';
import { dialectOf, dialectOfPath } from './error-forms.js';
import { Exchange, type ExchangeParts, type RequestHead } from './exchange.js';
import { ForwardingNotice, isForwarded, type UntrustedForwarding } from './forwarding.js';
import { HeadReader } from './head-reader.js';
import { OverloadGuard } from './overload.js';
import { listenExclusively } from './native.js';
import { OpenStreams } from './open-streams.js';
import { PeerReader } from './peers.js';
import { requestIds } from './request-ids.js';
import { Pipeline, type PipelineParts, readsBody } from './pipeline.js';
import { ambiguousFraming, methodsOf, notAllowed, notFound, overloaded } from './refusals.js';
import type { Incoming } from './incoming.js';
import { closeCodes, type Handshake, type OpenSocket, socketBehavior } from './sockets.js';

export interface EdgeOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly trustedProxies: readonly string[];
  readonly corsOrigins: readonly string[];
  /** Requests are refused above this lag of the event loop. */
  readonly lagMsMax: number;
  /** Missing values take their defaults. */
  readonly bounds?: Partial<EdgeBounds>;
}

export type EdgeParts = Pick<PipelineParts, 'authenticator' | 'admission' | 'report' | 'refusalOf'> & {
  readonly table: OperationTable;
  readonly time: Time;
  readonly random: Random;
  /** Finds a page for an address without an operation; `accept` is the header of the request. */
  readonly pages?: (method: string, path: string, accept: string) => Match | undefined;
  /** Whether pages of the origin may use a public key, which a browser asks first; without it, none may. */
  readonly allowsOrigin?: (use: Omit<PublicKeyUse, 'secret'>) => Ready<boolean>;
  /** Called at most once per hour, if requests come through a proxy that is not trusted. */
  readonly onUntrustedForwarding?: (seen: UntrustedForwarding) => void;
};

const empty: Readonly<Record<string, string>> = Object.freeze({});

/** The HTTP server: receives requests from the native server, finds their operation and passes them to the pipeline. */
export class EdgeServer {
  readonly #options: EdgeOptions;
  readonly #router: Router;
  readonly #pages: NonNullable<EdgeParts['pages']>;
  readonly #pipeline: Pipeline;
  readonly #admission: PipelineParts['admission'];
  readonly #allowsOrigin: NonNullable<EdgeParts['allowsOrigin']>;
  readonly #addresses: AddressReader;
  readonly #forwardingNotice: ForwardingNotice;
  readonly #peers: PeerReader;
  readonly #crossOrigin: CrossOrigin;
  /** Headers of the request that is currently being accepted. */
  readonly #head = new HeadReader();
  readonly #app = uWS.App();
  #running = 0;
  readonly #time: Time;
  readonly #nextRequestId: () => string;
  readonly #tracing = new RequestTracing();
  readonly overload: OverloadGuard;
  readonly streams: OpenStreams;
  readonly connections: Connections;
  /** Bodies of requests from their arrival until they are parsed, or until the answer if the operation takes them raw. */
  readonly bodyBudget: ByteBudget;
  /** Large answers until their clients have taken them. */
  readonly unsentAnswers: ByteBudget;
  readonly #sockets = new Set<OpenSocket>();
  #listening: us_listen_socket | undefined;
  #closing = false;
  #closesAll = false;
  readonly #exchanges: ExchangeParts;
  #idle: (() => void) | undefined;

  constructor(options: EdgeOptions, parts: EdgeParts) {
    this.#options = options;
    this.#time = parts.time;
    this.#nextRequestId = requestIds(parts.random);
    this.overload = new OverloadGuard(options.lagMsMax, parts.time);
    this.#router = new Router(parts.table);
    this.#pages = parts.pages ?? (() => undefined);
    this.#admission = parts.admission;
    this.#allowsOrigin = parts.allowsOrigin ?? (() => false);
    this.#addresses = new AddressReader(options.trustedProxies);
    this.#forwardingNotice = new ForwardingNotice(parts.onUntrustedForwarding ?? (() => undefined));
    this.#crossOrigin = new CrossOrigin(options.corsOrigins);
    this.#peers = new PeerReader(options.trustedProxies);
    const bounds = { ...defaultBounds, ...options.bounds };
    this.connections = new Connections(
      { perAddress: bounds.connectionsPerAddress, perNode: bounds.connections },
      this.#peers,
      parts.time,
    );
    this.bodyBudget = new ByteBudget({ each: bounds.bodyBytesPerAddress, all: bounds.bodyBytes });
    this.unsentAnswers = new ByteBudget({ each: bounds.answerBytesPerAddress, all: bounds.answerBytes });
    this.#exchanges = {
      time: parts.time,
      unsentAnswers: this.unsentAnswers,
      closesAll: () => this.#closesAll,
    };
    this.streams = new OpenStreams(parts.time);
    this.#pipeline = new Pipeline({
      ...parts,
      streams: this.streams,
      sockets: this.#sockets,
      socketClosed: ({ native }) => this.connections.socketClosed(this.#peers.read(native)),
      bodyBudget: this.bodyBudget,
      // A visitor was admitted for its origin.
      crossOriginHeaders: (origin, caller) =>
        caller?.kind === 'visitor' ? this.#crossOrigin.granted(origin) : this.#crossOrigin.headers(origin),
      closing: () => this.#closing,
    });
    this.connections.watch(this.#app);
    // Sees only WebSocket requests; all others reach the next handler.
    this.#app.ws(
      '/*',
      socketBehavior((response, request, handshake) => this.#take(response, request, handshake)),
    );
    this.#app.any('/*', (response, request) => this.#take(response, request));
  }

  /** Sends the text to every socket of this node that joined the topic. */
  publish(topic: string, text: string): void {
    if (!this.#closing) this.#app.publish(topic, text);
  }

  get runningRequests(): number {
    return this.#running;
  }

  /** Starts listening and returns the port. The port must be free: two servers would otherwise share it silently. */
  async listen(): Promise<number> {
    const { host, port } = this.#options;
    const socket = await new Promise<us_listen_socket | false>((resolve) => {
      this.#app.listen(host, port, listenExclusively, resolve);
    });
    if (socket === false)
      throw new Error(`cannot listen on ${host}:${port}: the port is in use or not permitted`);
    this.#listening = socket;
    this.overload.start();
    const taken = uWS.us_socket_local_port(socket);
    this.connections.listensOn(taken);
    return taken;
  }

  /** Accepts no new connection, lets running requests finish until the signal aborts, then closes the rest. */
  async close(signal: AbortSignal): Promise<void> {
    this.#closing = true;
    if (this.#listening !== undefined) uWS.us_listen_socket_close(this.#listening);
    this.#listening = undefined;
    // The clients reconnect to another node with their last event id.
    for (const socket of this.#sockets) socket.close(closeCodes.goingAway, 'the node is leaving');
    if (this.#running > 0 && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
    this.overload.stop();
    this.#closesAll = true;
    this.#app.close();
  }

  #take(response: HttpResponse, request: HttpRequest, handshake?: Handshake): void {
    this.#head.read(request);
    const { fault } = this.#head;
    const exchange = new Exchange(response, this.#headOf(response, request), this.#finished, this.#exchanges);
    this.#running += 1;
    if (fault !== undefined) {
      exchange.isLast = true;
      return this.#refuseUnrouted(exchange, ambiguousFraming(fault));
    }
    const { method, path } = exchange.head;
    if (method === 'OPTIONS' && this.#answerPreflight(exchange, request)) return;
    const found =
      this.#router.find(method === 'HEAD' ? 'GET' : method, path) ??
      this.#pages(method, path, request.getHeader('accept'));
    if (found === undefined) return this.#refuseUnrouted(exchange, notFound(path));
    if (!('operation' in found)) return this.#refuseUnrouted(exchange, notAllowed(found, method), found[0]);
    const { operation, params } = found;
    if (this.overload.shedding && operation.rate !== 'uncounted')
      return this.#answer(exchange, () => this.#refuseUncounted(exchange, operation, overloaded()));
    const incoming = this.#incomingOf(exchange, request, operation, params, handshake);
    // The answer waits for the body then, whose end is passed on in a later tick.
    if (readsBody(operation)) this.#pipeline.run(incoming);
    else this.#answer(exchange, () => this.#pipeline.run(incoming));
  }

  /**
   * Answers the last request of a connection in a later tick: first the native parser continues with its bytes, by its own
   * reading of the request. It closes the connection if it finds a further request while this one has no answer, so a
   * smuggled one is never served. After an answer in the same tick it would serve that one, and keep the connection open.
   */
  #answer(exchange: Exchange, answer: () => void): void {
    if (exchange.isLast) this.#time.soon(answer);
    else answer();
  }

  /** Reads only the headers that are needed: each read crosses into native code. */
  #headOf(response: HttpResponse, request: HttpRequest): RequestHead {
    const { requestId: given, contentType, contentLength, isChunked } = this.#head;
    const method = request.getCaseSensitiveMethod();
    const hasBody = method !== 'GET' && method !== 'HEAD';
    const native = response.getRemoteAddress();
    const address = this.#addresses.read(native, request);
    const startedAt = this.#time.monotonicMs();
    if (!this.#addresses.trustsProxies) this.#forwardingNotice.check(request, address, startedAt);
    return {
      method,
      path: request.getUrl(),
      query: request.getQuery() ?? '',
      address,
      native,
      requestId: given !== '' && /^[\w.-]{1,128}$/.test(given) ? given : this.#nextRequestId(),
      origin: this.#head.origin,
      anthropicVersion: this.#head.anthropicVersion,
      contentType: hasBody ? contentType : '',
      contentLength: hasBody ? contentLength : 0,
      isChunked,
      startedAt,
    };
  }

  #answerPreflight(exchange: Exchange, request: HttpRequest): boolean {
    const { origin, path, address } = exchange.head;
    if (origin === '') return false;
    const wanted = request.getHeader('access-control-request-method');
    const found = this.#router.find(wanted, path);
    if (found === undefined) return false;
    const methods = 'operation' in found ? [found.operation.method] : methodsOf(found);
    const asked = request.getHeader('access-control-request-headers');
    const answer = (): void => {
      const headers = this.#crossOrigin.preflight(origin, methods, asked);
      exchange.sendHeaders(204, this.#admission.figuresOfAddress(address), headers, this.#closing);
    };
    if (this.#crossOrigin.allows(origin)) this.#answer(exchange, answer);
    else if ('operation' in found && found.operation.access.credentials.has('public-key'))
      this.#answer(exchange, () => void this.#answerForKey(exchange, found, answer));
    else return false;
    return true;
  }

  /** A preflight request carries no header of the request that follows: the key is in its path. */
  async #answerForKey(exchange: Exchange, { operation, params }: Match, allow: () => void): Promise<void> {
    const { origin, address } = exchange.head;
    try {
      const use = { key: params[publicKeyParameter] ?? '', origin, address };
      if (await this.#allowsOrigin(use)) return allow();
      throw new PlatformError('origin_not_allowed');
    } catch (error) {
      this.#refuseUncounted(exchange, operation, error);
    }
  }

  #refuseUncounted(exchange: Exchange, { name, dialect }: Operation, error: unknown): void {
    const progress = { caller: undefined, figures: undefined };
    this.#pipeline.refuse(exchange, name, dialectOf(dialect, exchange.head), progress, error);
  }

  #incomingOf(
    exchange: Exchange,
    request: HttpRequest,
    operation: Operation,
    params: Readonly<Record<string, string>>,
    handshake: Handshake | undefined,
  ): Incoming {
    const { tenant, credentials, local } = operation.access;
    const apiKey = credentials.size === 0 ? '' : this.#head.apiKey;
    const authorization = credentials.size === 0 || apiKey !== '' ? '' : this.#head.authorization;
    const publicKey = credentials.has('public-key')
      ? {
          key: params[publicKeyParameter] ?? '',
          origin: this.#head.origin,
          address: exchange.head.address,
          secret: request.getHeader('x-visitor-secret'),
        }
      : undefined;
    const named = tenant.from === 'path' ? params[tenant.parameter] : this.#head.tenantId;
    return {
      operation,
      params,
      exchange,
      handshake,
      headers: headersOf(request, operation.headers),
      span: this.#tracing.enabled
        ? this.#tracing.begin(operation, exchange.head.requestId, headersOf(request, traceHeaders))
        : undefined,
      credentials: {
        apiKey: apiKey === '' ? undefined : apiKey,
        bearer: authorization === '' ? undefined : /^bearer +(\S+)$/i.exec(authorization)?.[1],
        tenantId: named === '' ? undefined : named,
        address: exchange.head.address,
        publicKey,
        isLocal: local && this.#isLocal(exchange, request),
      },
    };
  }

  /** The host counts too: a stranger may point a name to 127.0.0.1, and a browser on this machine then sends requests here. */
  #isLocal(exchange: Exchange, request: HttpRequest): boolean {
    return (
      isLoopbackAddress(exchange.head.address) && isLoopbackHost(this.#head.host) && !isForwarded(request)
    );
  }

  /**
   * A path or method without an operation counts as an anonymous request. `neighbour`: an operation of the path for another
   * method; the error has its form.
   */
  #refuseUnrouted(exchange: Exchange, error: PlatformError, neighbour?: Operation): void {
    const caller = { kind: 'anonymous', address: exchange.head.address } as const;
    const refuse = async (): Promise<void> => {
      const admitted = await this.#admission.admitRequest(caller, 'request');
      this.#pipeline.refuse(
        exchange,
        'unrouted',
        neighbour === undefined ? dialectOfPath(exchange.head) : dialectOf(neighbour.dialect, exchange.head),
        { caller, figures: admitted.figures },
        admitted.refusal ?? error,
      );
    };
    this.#answer(exchange, () => void refuse());
  }

  readonly #finished = (exchange: Exchange): void => {
    if (exchange.wasAborted) this.connections.closedBy(this.#peers.read(exchange.head.native));
    this.#running -= 1;
    if (this.#closing && this.#running === 0) this.#idle?.();
  };
}

function headersOf(request: HttpRequest, names: readonly string[]): Readonly<Record<string, string>> {
  if (names.length === 0) return empty;
  const headers: Record<string, string> = {};
  // Loops: building the object from a list of pairs takes six times as long.
  if (names.length <= singleReadsMax) {
    for (const name of names) headers[name] = request.getHeader(name);
    return headers;
  }
  for (const name of names) headers[name] = '';
  request.forEach((name, value) => {
    if (headers[name] === '') headers[name] = value;
  });
  return headers;
}

/** A native call for each header takes as long as a walk over three of them, and requests have some ten. */
const singleReadsMax = 4;
