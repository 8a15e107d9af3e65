import { createSecureContext, TLSSocket, type TlsOptions } from 'node:tls';
import { ChannelCredentials, type experimental } from '@grpc/grpc-js';
import { ClusterError } from '../../errors.js';
import type { GrpcTls } from './settings.js';

type Connector = experimental.SecureConnector;

/** Of TLS 1.3 alone a connection has keys that it shares with no other, whoever stands between (RFC 9266). */
const leastVersion = 'TLSv1.3';
const exporterLabel = 'EXPORTER-Channel-Binding';
const exporterBytes = 32;

/** What the two ends of one TLS connection can both compute, and nobody else. */
export function tlsBinding(socket: TLSSocket): Uint8Array {
  const none = Buffer.alloc(0);
  return Buffer.concat([
    Buffer.from('tls-exporter:'),
    socket.exportKeyingMaterial(exporterBytes, exporterLabel, none),
  ]);
}

/**
 * Without TLS: the address that the listener announced and the dialer dialed. It stops a process at another address
 * that passes a greeting on; it does not stop whoever sits on the path between the two.
 */
export function plainBinding(address: string): Uint8Array {
  return Buffer.from(`address:${address}`);
}

export function serverTlsOptions(tls: GrpcTls, handshakeTimeout: number): TlsOptions {
  return {
    ca: Buffer.from(tls.ca),
    cert: Buffer.from(tls.cert),
    key: Buffer.from(tls.key),
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: leastVersion,
    ALPNProtocols: ['h2'],
    handshakeTimeout,
  };
}

/** TLS that remembers the connections it made, since a proof is bound to the one that carries it. One for each dial. */
export class BoundCredentials extends ChannelCredentials {
  readonly #inner: ChannelCredentials;
  readonly #sockets = new Map<string, TLSSocket>();

  constructor(tls: GrpcTls) {
    super();
    const context = createSecureContext({
      ca: Buffer.from(tls.ca),
      cert: Buffer.from(tls.cert),
      key: Buffer.from(tls.key),
      minVersion: leastVersion,
    });
    this.#inner = ChannelCredentials.createFromSecureContext(context);
  }

  /** Of the connection to this address; a name may have several, of which gRPC takes one. */
  binding(peer: string): Uint8Array {
    const socket = this.#sockets.get(peer);
    if (socket === undefined) throw new ClusterError('peer_lost', `no TLS connection to ${peer} is open`);
    return tlsBinding(socket);
  }

  override _isSecure(): boolean {
    return true;
  }

  override _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  override _createSecureConnector(
    ...given: Parameters<ChannelCredentials['_createSecureConnector']>
  ): Connector {
    const connector = this.#inner._createSecureConnector(...given);
    return {
      connect: async (socket) => {
        const result = await connector.connect(socket);
        if (result.socket instanceof TLSSocket) this.#sockets.set(nameOf(socket), result.socket);
        return result;
      },
      waitForReady: () => connector.waitForReady(),
      getCallCredentials: () => connector.getCallCredentials(),
      destroy: () => connector.destroy(),
    };
  }
}

/** As gRPC names the peer of a call. */
function nameOf(socket: { remoteAddress?: string | undefined; remotePort?: number | undefined }): string {
  const { remoteAddress = '', remotePort = 0 } = socket;
  return remoteAddress.includes(':') ? `[${remoteAddress}]:${remotePort}` : `${remoteAddress}:${remotePort}`;
}
