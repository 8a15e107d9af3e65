import { isIP, type Socket } from 'node:net';
import { connect, rootCertificates, type TLSSocket } from 'node:tls';
import { cancelled, type ConnectionParts } from './connection.js';
import { EgressError } from './egress-error.js';
import { expiry } from './expiry.js';

export interface HandshakeOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Starts TLS on a guarded connection, for protocols that begin in plain text. The certificate must be that of the host.
 * On any failure the connection is closed.
 */
export function startTls(
  { authorities }: ConnectionParts,
  socket: Socket,
  host: string,
  { timeoutMs, signal }: HandshakeOptions,
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      socket.destroy();
      return reject(cancelled(host, signal.reason, true));
    }
    const secure = connect({
      socket,
      host,
      // An address is not a server name (RFC 6066); the certificate is still compared with `host`.
      ...(isIP(host) === 0 ? { servername: host } : {}),
      rejectUnauthorized: true,
      ...(authorities.length === 0 ? {} : { ca: [...rootCertificates, ...authorities] }),
    });
    const settle = (error?: EgressError): void => {
      limit.cancel();
      signal?.removeEventListener('abort', onAbort);
      secure.off('error', onError).off('secureConnect', onSecure).off('close', onClose);
      if (error === undefined) return resolve(secure);
      // Later errors of the abandoned connection are irrelevant.
      secure.on('error', () => undefined).destroy();
      socket.destroy();
      reject(error);
    };
    const onSecure = (): void => settle();
    const onError = (cause: Error): void => settle(handshakeFailure(host, cause));
    const onClose = (): void => settle(handshakeFailure(host, new Error('closed')));
    const onAbort = (): void => settle(cancelled(host, signal?.reason, true));
    const limit = expiry(timeoutMs, () => {
      const message = `The TLS handshake with ${host} did not finish within ${timeoutMs} ms.`;
      settle(new EgressError('timeout', message, { host, neverSent: true }));
    });
    secure.on('secureConnect', onSecure).on('error', onError).on('close', onClose);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function handshakeFailure(host: string, cause: Error): EgressError {
  const code: unknown = Reflect.get(cause, 'code');
  const words = typeof code === 'string' ? ` (${code})` : '';
  return new EgressError('connection_failed', `TLS with ${host} failed${words}.`, {
    host,
    neverSent: true,
    cause,
  });
}
