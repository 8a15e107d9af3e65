import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { Agent } from 'undici';
import { invalidField } from '../../kernel/errors.js';
import { AddressRules } from './address-rules.js';
import { connectGuarded, guardedConnector } from './connection.js';
import { EgressError } from './egress-error.js';
import { exchange, type OutboundRequest, type StreamedAnswer } from './exchange.js';
import { fetchLike, type FetchLike, type FetchLimits } from './fetch-like.js';
import { checkHeaders } from './header-rules.js';
import { lastLook } from './last-look.js';
import { Places, placesMax } from './places.js';
import { type Lookup, permittedAddresses, systemLookup } from './resolve.js';
import { hostNamed, readHost, readUrl } from './target-rules.js';
import { startTls } from './tls.js';

export { EgressError, type EgressFailure } from './egress-error.js';
export type { OutboundMethod, OutboundRequest, StreamedAnswer } from './exchange.js';
export type { MayBegin } from './last-look.js';
export type { FetchLike, FetchLimits } from './fetch-like.js';
export { examineNameServers, type LookUpRecords, systemRecords } from './records.js';
export { type Lookup, systemLookup } from './resolve.js';

export interface EgressParts {
  /** CIDRs that may be reached although they are private. */
  readonly allow: readonly string[];
  /** Resolves names to addresses; default: the name servers of this machine. */
  readonly lookup?: Lookup;
  /** PEM certificates trusted in addition to Node's own. */
  readonly authorities?: readonly string[];
}

export interface GuardedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly url: string;
  readonly body: Buffer;
  /** True if `oversize: 'cut'` shortened the body. */
  readonly truncated: boolean;
}

export interface GuardedRequest extends OutboundRequest {
  /**
   * False: the status is all of the answer, and its body is reported as empty. It then neither delays the answer nor
   * fails it.
   */
  readonly readsBody?: (status: number) => boolean;
}

/**
 * The only way out for targets that a tenant can choose. The `check…` functions check at save time and throw
 * `validation_error` with the field; the others check the address actually connected to and throw `EgressError`.
 */
export interface Egress {
  /** Returns the parsed URL if its form, host and port are permitted. A name is not looked up. */
  checkUrl(url: string, field: string): URL;
  checkHost(host: string, port: number, field: string): void;
  checkHeaders(headers: Readonly<Record<string, string>>, field: string): void;
  /** Like `checkUrl`, and looks the name up, for publishing. A name that does not resolve yet passes. */
  checkResolved(url: string, field: string): Promise<void>;
  fetchGuarded(request: GuardedRequest): Promise<GuardedAnswer>;
  /** Resolves with the headers; the body is streamed. */
  streamGuarded(request: OutboundRequest): Promise<StreamedAnswer>;
  /** For packages that need a `fetch`. */
  fetchLike(limits: FetchLimits): FetchLike;
  /** Opens a plain TCP connection. */
  connectGuarded(
    host: string,
    port: number,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<Socket>;
  /** Starts TLS on a connection of `connectGuarded`; the certificate must be that of the host. */
  startTls(
    socket: Socket,
    host: string,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<TLSSocket>;
  /**
   * The permitted addresses of the host, for drivers that take only a host: pass them one of these, and the name for TLS
   * separately.
   */
  permittedAddresses(host: string, port: number): Promise<readonly [string, ...string[]]>;
  close(): Promise<void>;
}

/** Per origin. More than there are places, so that a request that has its place waits for no connection. */
const connectionsMax = placesMax.all + placesMax.each;
const keepAliveMs = 10_000;
const headerBytesMax = 16 * 1024;

export function createEgress(parts: EgressParts): Egress {
  const rules = new AddressRules(parts.allow);
  const lookup = parts.lookup ?? systemLookup();
  const connection = { rules, lookup, authorities: parts.authorities ?? [] };
  const agent = new Agent({
    connect: guardedConnector(connection),
    connections: connectionsMax,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    maxHeaderSize: headerBytesMax,
  });
  const way = { rules, dispatcher: agent.compose(lastLook), places: new Places() };
  const streamGuarded = (request: OutboundRequest) => exchange(way, request);
  const checkUrl = (url: string, field: string): URL => {
    const target = readUrl(rules, url);
    if (typeof target === 'string') throw invalidField(field, target);
    return target.url;
  };
  return {
    checkUrl,
    checkHost: (host, port, field) => {
      const target = readHost(rules, host, port);
      if (typeof target === 'string') throw invalidField(field, target);
    },
    checkHeaders,
    checkResolved: async (url, field) => {
      const { hostname } = checkUrl(url, field);
      try {
        await permittedAddresses(rules, lookup, hostname.replace(/^\[|\]$|\.$/g, ''));
      } catch (error) {
        if (!(error instanceof EgressError) || error.failure !== 'forbidden_target') return;
        throw invalidField(field, 'points to a host that may not be reached from here');
      }
    },
    fetchGuarded: async (request) => wholeOf(await streamGuarded(request), request),
    streamGuarded,
    fetchLike: (limits) => fetchLike(streamGuarded, limits),
    connectGuarded: async (host, port, options) =>
      connectGuarded(connection, { host: hostOf(rules, host, port), port }, options),
    startTls: (socket, host, options) =>
      startTls(connection, socket, host.replace(/^\[|\]$|\.$/g, ''), options),
    permittedAddresses: async (host, port) => permittedAddresses(rules, lookup, hostOf(rules, host, port)),
    close: () => agent.destroy(),
  };
}

async function wholeOf(
  { status, headers, url, body, truncated }: StreamedAnswer,
  { readsBody = () => true }: GuardedRequest,
): Promise<GuardedAnswer> {
  if (!readsBody(status)) {
    // Read within the limits all the same: a body that ends leaves its connection to the next request.
    chunksOf(body).catch(() => undefined);
    return { status, headers, url, body: Buffer.alloc(0), truncated: false };
  }
  const chunks = await chunksOf(body);
  return { status, headers, url, body: Buffer.concat(chunks), truncated: truncated() };
}

async function chunksOf(body: StreamedAnswer['body']): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return chunks;
}

function hostOf(rules: AddressRules, text: string, port: number): string {
  const target = readHost(rules, text, port);
  if (typeof target !== 'string') return target.host;
  throw new EgressError('forbidden_target', `The host ${target}.`, {
    host: hostNamed(`http://${text}/`),
    neverSent: true,
  });
}
