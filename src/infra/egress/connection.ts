import { type LookupFunction, connect, isIP, type Socket } from 'node:net';
import { rootCertificates } from 'node:tls';
import { callbackify } from 'node:util';
import { buildConnector } from 'undici';
import type { AddressRules } from './address-rules.js';
import { EgressError } from './egress-error.js';
import { expiry } from './expiry.js';
import { type Lookup, permittedAddresses } from './resolve.js';
import { forbidden } from './target-rules.js';

/**
 * Connects only to checked addresses. The name is resolved once, the addresses are filtered, and only permitted ones are
 * passed to the socket, so no second look-up can return another answer. After connecting, the socket's remote address is
 * checked again, in case a lower layer connected elsewhere.
 */
export interface ConnectionParts {
  readonly rules: AddressRules;
  readonly lookup: Lookup;
  /** PEM certificates trusted in addition to Node's own. */
  readonly authorities: readonly string[];
}

export const connectTimeoutMs = 10_000;

export function guardedConnector(parts: ConnectionParts): buildConnector.connector {
  const dial = buildConnector({
    timeout: connectTimeoutMs,
    lookup: guardedLookup(parts),
    // Set explicitly: an environment variable can disable the default for the whole process.
    rejectUnauthorized: true,
    ...(parts.authorities.length === 0 ? {} : { ca: [...rootCertificates, ...parts.authorities] }),
  });
  return (options, callback) => {
    const host = options.hostname.replace(/^\[|\]$/g, '');
    const refused = refusalOfLiteral(parts.rules, host);
    if (refused !== undefined) {
      callback(refused, null);
      return;
    }
    dial(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      const elsewhere = refusalOfReached(parts.rules, socket, host);
      if (elsewhere === undefined) return callback(null, socket);
      socket.destroy();
      callback(elsewhere, null);
    });
  };
}

/** Opens a TCP connection for protocols other than HTTP. The caller closes it. */
export function connectGuarded(
  parts: ConnectionParts,
  target: { readonly host: string; readonly port: number },
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
): Promise<Socket> {
  const { host, port } = target;
  return new Promise((resolve, reject) => {
    const refused = refusalOfLiteral(parts.rules, host);
    if (refused !== undefined) return reject(refused);
    if (signal?.aborted === true) return reject(cancelled(host, signal.reason, true));
    const socket = connect({ host, port, lookup: guardedLookup(parts), noDelay: true });
    const settle = (error?: EgressError): void => {
      limit.cancel();
      signal?.removeEventListener('abort', onAbort);
      socket.off('error', onError).off('connect', onConnect);
      if (error === undefined) return resolve(socket);
      // Later errors of the abandoned socket are irrelevant.
      socket.on('error', () => undefined).destroy();
      reject(error);
    };
    const onConnect = (): void => settle(refusalOfReached(parts.rules, socket, host));
    const onError = (cause: Error): void => settle(connectionFailure(host, cause));
    const onAbort = (): void => settle(cancelled(host, signal?.reason, true));
    const limit = expiry(timeoutMs, () =>
      settle(
        new EgressError('timeout', `${host} did not accept a connection within ${timeoutMs} ms.`, {
          host,
          neverSent: true,
        }),
      ),
    );
    socket.on('connect', onConnect).on('error', onError);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

export function connectionFailure(host: string, cause: Error): EgressError {
  if (cause instanceof EgressError) return cause;
  const code: unknown = Reflect.get(cause, 'code');
  // The system's message contains the address; its code is enough.
  const words = typeof code === 'string' ? ` (${code})` : '';
  return new EgressError('connection_failed', `The connection to ${host} failed${words}.`, {
    host,
    neverSent: true,
    cause,
  });
}

export function cancelled(host: string, cause: unknown, neverSent: boolean): EgressError {
  return new EgressError('cancelled', `The call to ${host} was cancelled.`, { host, neverSent, cause });
}

function guardedLookup({ rules, lookup }: ConnectionParts): LookupFunction {
  const find = callbackify((host: string) => permittedAddresses(rules, lookup, host.replace(/\.$/, '')));
  return (host, options, callback) =>
    find(host, (error, addresses) => {
      if (error !== null) return callback(error, []);
      if (options.all !== true) return callback(null, addresses[0], isIP(addresses[0]));
      callback(
        null,
        addresses.map((address) => ({ address, family: isIP(address) })),
      );
    });
}

/** Literal addresses are never looked up, so they are checked here. */
function refusalOfLiteral(rules: AddressRules, host: string): EgressError | undefined {
  if (isIP(host) === 0) return undefined;
  const refusal = rules.refusalOf(host);
  return refusal === undefined ? undefined : forbiddenTarget(host, refusal);
}

function refusalOfReached(rules: AddressRules, socket: Socket, host: string): EgressError | undefined {
  // The socket has already closed; nothing will be sent.
  if (socket.remoteAddress === undefined) return connectionFailure(host, new Error('closed at once'));
  const refusal = rules.refusalOf(socket.remoteAddress);
  return refusal === undefined ? undefined : forbiddenTarget(host, refusal);
}

function forbiddenTarget(host: string, refusal: string): EgressError {
  return new EgressError('forbidden_target', `The address ${forbidden(host, refusal)}.`, {
    host,
    neverSent: true,
  });
}
