import type { ChannelOptions } from '@grpc/grpc-js';
import type { ClusterConfig } from '../../config.js';
import type { ProcessId } from '../../ids/ids.js';
import type { LinkTrouble } from '../link-troubles.js';

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
  /** Both sides then show a certificate of the same authority. */
  readonly tls?: GrpcTls;
  /**
   * Without TLS links are in the clear, and stay on the loopback unless this says otherwise: whoever can read or
   * change what passes between two machines would read and change calls.
   */
  readonly plaintext?: 'loopback' | 'anywhere';
  readonly report?: (trouble: LinkTrouble) => void;
}

/** How often the other end of a connection without traffic is asked whether it lives, and how long it may take. */
const keepaliveMs = 30_000;
const keepaliveTimeoutMs = 10_000;

/** A stranger cannot send more than this at once; what a proven peer sends in one message fits. */
export function serverOptions(config: ClusterConfig): ChannelOptions {
  return {
    'grpc.max_receive_message_length': config.linkMessageBytes,
    'grpc.max_send_message_length': config.messageBytesMax,
    'grpc.max_concurrent_streams': config.connectionStreamsMax,
    // A peer whose machine vanished sends no end of its connection.
    'grpc.keepalive_time_ms': keepaliveMs,
    'grpc.keepalive_timeout_ms': keepaliveTimeoutMs,
  };
}

export function clientOptions(config: ClusterConfig, tls: GrpcTls | undefined): ChannelOptions {
  return {
    // A view of many members is one frame of an answer to a probe.
    'grpc.max_receive_message_length': config.messageBytesMax,
    'grpc.max_send_message_length': config.linkMessageBytes,
    // Each link and each probe channel has a connection of its own: one must never hold up another.
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_retries': 0,
    'grpc.service_config_disable_resolution': 1,
    ...(tls?.serverName === undefined
      ? {}
      : { 'grpc.ssl_target_name_override': tls.serverName, 'grpc.default_authority': tls.serverName }),
  };
}
