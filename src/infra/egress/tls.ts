import { isIP, type Socket } from 'node:net';
import { connect, rootCertificates, type TLSSocket } from 'node:tls';
import { cancelled, type ConnectionParts } from './connection.js';
import { EgressError } from './egress-error.js';

export interface HandshakeOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * TLS over a connection that was guarded already, for protocols that begin in the clear and turn to TLS on the way.
 * The certificate must be one for that host. Whatever goes wrong, the connection is closed.
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
      return reject(cancelled(host, signal.reason));
    }
    const secure = connect({
      socket,
      host,
      // Addresses are no names of servers (RFC 6066); the certificate is compared with `host` all the same.
      ...(isIP(host) === 0 ? { servername: host } : {}),
      rejectUnauthorized: true,
      ...(authorities.length === 0 ? {} : { ca: [...rootCertificates, ...authorities] }),
    });
    const settle = (error?: EgressError): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      secure.off('error', onError).off('secureConnect', onSecure).off('close', onClose);
      if (error === undefined) return resolve(secure);
      // What else breaks on a connection that is given up is of no interest.
      secure.on('error', () => undefined).destroy();
      socket.destroy();
      reject(error);
    };
    const onSecure = (): void => settle();
    const onError = (cause: Error): void => settle(handshakeFailure(host, cause));
    const onClose = (): void => settle(handshakeFailure(host, new Error('closed')));
    const onAbort = (): void => settle(cancelled(host, signal?.reason));
    const timer = setTimeout(() => {
      const message = `${host} did not agree on TLS within ${timeoutMs} ms.`;
      settle(new EgressError('timeout', message, { neverSent: true }));
    }, timeoutMs);
    secure.on('secureConnect', onSecure).on('error', onError).on('close', onClose);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function handshakeFailure(host: string, cause: Error): EgressError {
  const code: unknown = Reflect.get(cause, 'code');
  const words = typeof code === 'string' ? ` (${code})` : '';
  return new EgressError('connection_failed', `TLS with ${host} failed${words}.`, { neverSent: true, cause });
}
