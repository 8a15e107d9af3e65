import { createSecureContext, TLSSocket, type TlsOptions } from 'node:tls';
import { ChannelCredentials, type experimental } from '@grpc/grpc-js';
import { ClusterError } from '../../errors.js';
import type { GrpcTls } from './renewable-tls.js';

type Connector = experimental.SecureConnector;

/** Only TLS 1.3 gives each connection unique keying material, even with a man in the middle (RFC 9266). */
const leastVersion = 'TLSv1.3';
const exporterLabel = 'EXPORTER-Channel-Binding';
const exporterBytes = 32;

/** A value that only the two ends of one TLS connection can compute. */
export function tlsBinding(socket: TLSSocket): Uint8Array {
  const none = Buffer.alloc(0);
  return Buffer.concat([
    Buffer.from('tls-exporter:'),
    socket.exportKeyingMaterial(exporterBytes, exporterLabel, none),
  ]);
}

/**
 * Without TLS: the address that the listener announced and the dialer dialed. It prevents a process at another address
 * from relaying a greeting, but not an attacker on the path between the two.
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

/** TLS credentials that keep their connections, because a proof is bound to its connection. One per dial. */
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

  /** The binding of the connection to this address; a name may have several addresses, of which gRPC uses one. */
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

/** The name that gRPC gives the peer of a call. */
function nameOf(socket: { remoteAddress?: string | undefined; remotePort?: number | undefined }): string {
  const { remoteAddress = '', remotePort = 0 } = socket;
  return remoteAddress.includes(':') ? `[${remoteAddress}]:${remotePort}` : `${remoteAddress}:${remotePort}`;
}
