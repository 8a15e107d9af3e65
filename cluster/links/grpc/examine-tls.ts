import { isIP } from 'node:net';
import { duplexPair } from 'node:stream';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { ClusterError } from '../../errors.js';
import { serverTlsOptions } from './credentials.js';
import { hostOf } from './loopback.js';
import type { GrpcTls } from './renewable-tls.js';

export interface ExaminedTls {
  /** The names and addresses of the certificate. */
  readonly names: string;
  readonly validUntil: string;
}

/** Time-out of the handshake. It runs inside the process, so the network does not matter. */
const handshakeMs = 10_000;

/**
 * Checks that peers would accept this node's certificate, and this node one like it: runs both ends of a handshake
 * with the same checks as between nodes. Otherwise throws the reason: expired, another authority, another name, not
 * usable as client or server, or a key that does not match.
 */
export async function examineTls(tls: GrpcTls, address: string): Promise<ExaminedTls> {
  const host = tls.serverName ?? hostOf(address);
  try {
    const seen = await shakeHands(tls, host);
    return { names: seen.subjectaltname ?? String(seen.subject.CN), validUntil: seen.valid_to };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ClusterError('not_serving', `no peer would accept the certificate of ${host}: ${reason}`, {
      cause: error,
    });
  }
}

function shakeHands(tls: GrpcTls, host: string): Promise<ReturnType<TLSSocket['getPeerCertificate']>> {
  const [near, far] = duplexPair();
  // The server reports the error of a client certificate only for admitted clients, so it admits all and checks.
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
    // In TLS 1.3 the client finishes first; only the server knows whether the client certificate is valid.
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
