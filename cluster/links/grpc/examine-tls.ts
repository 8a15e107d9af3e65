import { isIP } from 'node:net';
import { duplexPair } from 'node:stream';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { ClusterError } from '../../errors.js';
import { serverTlsOptions } from './credentials.js';
import { hostOf } from './loopback.js';
import type { GrpcTls } from './settings.js';

export interface ExaminedTls {
  /** The names and addresses for which the certificate stands. */
  readonly names: string;
  readonly validUntil: string;
}

/** Nothing leaves the process, so no network can make it slow. */
const handshakeMs = 10_000;

/**
 * Whether a peer would take this node's certificate, and this node one like it: both ends of a handshake are made
 * here, with the same checks as between nodes. Says why not otherwise: expired, of another authority, for another
 * name, without the use as a client or a server, or with a key that does not belong to it.
 */
export async function examineTls(tls: GrpcTls, address: string): Promise<ExaminedTls> {
  const host = tls.serverName ?? hostOf(address);
  try {
    const seen = await shakeHands(tls, host);
    return { names: seen.subjectaltname ?? String(seen.subject.CN), validUntil: seen.valid_to };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ClusterError('not_serving', `no peer would take the certificate of ${host}: ${reason}`, {
      cause: error,
    });
  }
}

function shakeHands(tls: GrpcTls, host: string): Promise<ReturnType<TLSSocket['getPeerCertificate']>> {
  const [near, far] = duplexPair();
  // What is wrong with the certificate of a client is told only of one that is let in.
  const server = createServer({ ...serverTlsOptions(tls, handshakeMs), rejectUnauthorized: false });
  const { ca, cert, key, minVersion } = serverTlsOptions(tls, handshakeMs);
  const client = connect({
    socket: near,
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ALPNProtocols: ['h2'],
    ca,
    cert,
    key,
    minVersion,
  });
  const done = new Promise<ReturnType<TLSSocket['getPeerCertificate']>>((resolve, reject) => {
    client.once('error', reject);
    // Of TLS 1.3 the client is done first; whether its own certificate counts is said by the server.
    server.once('tlsClientError', reject);
    server.once('secureConnection', (socket) => {
      if (socket.authorized) resolve(client.getPeerCertificate());
      else reject(new Error(String(socket.authorizationError)));
    });
  });
  server.emit('connection', far);
  return done.finally(() => {
    client.on('error', () => undefined);
    far.on('error', () => undefined);
    client.destroy();
    far.destroy();
  });
}
