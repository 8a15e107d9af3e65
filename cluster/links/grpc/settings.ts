import { ChannelCredentials, ServerCredentials, type ChannelOptions } from '@grpc/grpc-js';
import type { ProcessId } from '../../ids/ids.js';

export interface GrpcTls {
  readonly ca: Uint8Array;
  readonly cert: Uint8Array;
  readonly key: Uint8Array;
  /** The name that peers' certificates carry, where it is not their address. */
  readonly serverName?: string;
}

export interface GrpcSettings {
  readonly self: ProcessId;
  readonly cluster: string;
  readonly secret: string;
  /** Where to listen; port 0 takes a free one. */
  readonly host: string;
  readonly port: number;
  /** host or host:port that peers dial, where it is not the listener's own. */
  readonly advertise?: string;
  /** Both sides then show a certificate of the same authority. Without it the links are in the clear. */
  readonly tls?: GrpcTls;
}

/** Above the largest batch: one batch may hold one frame beyond its cap. */
const messageLength = 8 * 1_024 * 1_024;

export function clientOptions(settings: GrpcSettings): ChannelOptions {
  return {
    'grpc.max_receive_message_length': messageLength,
    'grpc.max_send_message_length': messageLength,
    // Each link and each probe channel has a connection of its own: one must never hold up another.
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_retries': 0,
    'grpc.service_config_disable_resolution': 1,
    ...(settings.tls?.serverName === undefined
      ? {}
      : {
          'grpc.ssl_target_name_override': settings.tls.serverName,
          'grpc.default_authority': settings.tls.serverName,
        }),
  };
}

export const serverOptions: ChannelOptions = {
  'grpc.max_receive_message_length': messageLength,
  'grpc.max_send_message_length': messageLength,
};

export function clientCredentials(settings: GrpcSettings): ChannelCredentials {
  const { tls } = settings;
  if (tls === undefined) return ChannelCredentials.createInsecure();
  return ChannelCredentials.createSsl(Buffer.from(tls.ca), Buffer.from(tls.key), Buffer.from(tls.cert));
}

export function serverCredentials(settings: GrpcSettings): ServerCredentials {
  const { tls } = settings;
  if (tls === undefined) return ServerCredentials.createInsecure();
  const pair = { private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.cert) };
  return ServerCredentials.createSsl(Buffer.from(tls.ca), [pair], true);
}
