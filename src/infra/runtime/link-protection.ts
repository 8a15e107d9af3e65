// Checks whether links between nodes may be opened with these settings: encrypted, on this machine only, or unencrypted
// if the operator has allowed it.
import { readFile } from 'node:fs/promises';
import {
  type ClusteredNodeOptions,
  examineTls,
  type ExaminedTls,
  type GrpcTls,
  isLoopback,
} from '../../../cluster/index.js';
import type { Settings } from '../../kernel/config/index.js';

export type LinkSettings = Pick<
  Settings,
  'grpcHost' | 'advertiseAddr' | 'grpcTlsCa' | 'grpcTlsCert' | 'grpcTlsKey' | 'grpcInsecure'
>;

/** A problem that the operator must fix before links are opened. */
export class LinkProtectionError extends Error {
  override readonly name = 'LinkProtectionError';
}

export interface LinkProtection extends Pick<ClusteredNodeOptions, 'plaintext'> {
  readonly tls?: GrpcTls;
}

export async function linkProtectionOf(settings: LinkSettings): Promise<LinkProtection> {
  const { advertiseAddr, grpcHost } = settings;
  if (advertiseAddr === undefined && /^(?:0\.0\.0\.0|::|\[::\])$/.test(grpcHost)) {
    throw new LinkProtectionError(
      `TROUPE_ADVERTISE_ADDR is missing: other nodes cannot connect to ${grpcHost}, the listening address in TROUPE_GRPC_HOST`,
    );
  }
  const tls = await readTls(settings);
  if (tls !== undefined) {
    await examined(settings, tls);
    return { tls };
  }
  if (settings.grpcInsecure) return { plaintext: 'anywhere' };
  const exposed = exposedBy(settings);
  if (exposed === undefined) return { plaintext: 'loopback' };
  throw new LinkProtectionError(
    `links between nodes would be unencrypted: ${exposed}, and TLS is not set up. ` +
      'Anyone on that network could read and change every call. Set TROUPE_GRPC_TLS_CA, ' +
      'TROUPE_GRPC_TLS_CERT and TROUPE_GRPC_TLS_KEY to the files with the certificate authority, the certificate and the ' +
      'key of this node; or, if that network is encrypted or protected in another way, set TROUPE_GRPC_INSECURE=on.',
  );
}

/** The description for `troupe doctor`. */
export async function describeLinkProtection(
  settings: LinkSettings,
): Promise<{ readonly isGuarded: boolean; readonly says: string }> {
  const { tls, plaintext } = await linkProtectionOf(settings);
  if (tls !== undefined) {
    const { names, validUntil } = await examined(settings, tls);
    return {
      isGuarded: true,
      says: `TLS, with a certificate for ${names} until ${validUntil}`,
    };
  }
  return plaintext === 'anywhere'
    ? { isGuarded: false, says: 'TROUPE_GRPC_INSECURE is on: links to any machine are unencrypted' }
    : { isGuarded: true, says: 'limited to this machine, without TLS' };
}

function exposedBy({ grpcHost, advertiseAddr }: LinkSettings): string | undefined {
  if (!isLoopback(grpcHost)) return `TROUPE_GRPC_HOST makes this node listen on ${grpcHost}`;
  if (advertiseAddr !== undefined && !isLoopback(advertiseAddr)) {
    return `TROUPE_ADVERTISE_ADDR tells other nodes to connect to ${advertiseAddr}`;
  }
  return undefined;
}

/** Throws an error with the reason where no peer would accept the certificate. */
export async function usableUntil(settings: LinkSettings, tls: GrpcTls): Promise<string> {
  return (await examined(settings, tls)).validUntil;
}

async function examined(settings: LinkSettings, tls: GrpcTls): Promise<ExaminedTls> {
  const address = settings.advertiseAddr ?? settings.grpcHost;
  try {
    return await examineTls(tls, address);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new LinkProtectionError(
      `TLS between nodes cannot work: ${reason}. Check the files in TROUPE_GRPC_TLS_CA, TROUPE_GRPC_TLS_CERT and ` +
        'TROUPE_GRPC_TLS_KEY: the certificate must be issued by that authority, for the host that other nodes connect to ' +
        '(TROUPE_ADVERTISE_ADDR, otherwise TROUPE_GRPC_HOST), and for use as a server and as a client.',
      { cause },
    );
  }
}

/** What the three files hold; undefined without TLS. */
export async function readTls({
  grpcTlsCa,
  grpcTlsCert,
  grpcTlsKey,
}: LinkSettings): Promise<GrpcTls | undefined> {
  if (grpcTlsCa === undefined && grpcTlsCert === undefined && grpcTlsKey === undefined) return undefined;
  const [ca, cert, key] = await Promise.all([
    fileOf('TROUPE_GRPC_TLS_CA', grpcTlsCa),
    fileOf('TROUPE_GRPC_TLS_CERT', grpcTlsCert),
    fileOf('TROUPE_GRPC_TLS_KEY', grpcTlsKey),
  ]);
  return { ca, cert, key };
}

async function fileOf(variable: string, path: string | undefined): Promise<Uint8Array> {
  if (path === undefined) {
    throw new LinkProtectionError(`${variable} is missing: TLS between nodes needs all three files`);
  }
  try {
    return await readFile(path);
  } catch (cause) {
    throw new LinkProtectionError(`the file in ${variable} (${path}) cannot be read`, { cause });
  }
}
