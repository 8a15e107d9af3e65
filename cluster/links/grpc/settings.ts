import type { ChannelOptions } from '@grpc/grpc-js';
import type { ClusterConfig } from '../../config.js';
import type { ProcessId } from '../../ids/ids.js';
import type { LinkTrouble } from '../link-troubles.js';
import type { GrpcTls, RenewableTls } from './renewable-tls.js';

export interface GrpcSettings {
  readonly self: ProcessId;
  readonly cluster: string;
  readonly secret: string;
  /** Where to listen; port 0 takes a free port. */
  readonly host: string;
  readonly port: number;
  /** host or host:port that peers dial, if it differs from the listener's own. */
  readonly advertise?: string;
  /** If set, both sides present a certificate of the same authority. */
  readonly tls?: GrpcTls | RenewableTls;
  /**
   * Links without TLS are unencrypted, and limited to the loopback by default: an attacker between two machines could
   * read and change calls.
   */
  readonly plaintext?: 'loopback' | 'anywhere';
  readonly report?: (trouble: LinkTrouble) => void;
}

/** Interval of keepalive pings on an idle connection, and their time-out. */
const keepaliveMs = 30_000;
const keepaliveTimeoutMs = 10_000;

/** Limits what an unproven peer can send at once; one message of a proven peer fits. */
export function serverOptions(config: ClusterConfig): ChannelOptions {
  return {
    'grpc.max_receive_message_length': config.linkMessageBytes,
    'grpc.max_send_message_length': config.messageBytesMax,
    'grpc.max_concurrent_streams': config.connectionStreamsMax,
    // A vanished machine does not close its connections.
    'grpc.keepalive_time_ms': keepaliveMs,
    'grpc.keepalive_timeout_ms': keepaliveTimeoutMs,
  };
}

export function clientOptions(config: ClusterConfig, tls: GrpcTls | undefined): ChannelOptions {
  return {
    // The answer to a probe contains a view of many members in one frame.
    'grpc.max_receive_message_length': config.messageBytesMax,
    'grpc.max_send_message_length': config.linkMessageBytes,
    // Each link and each probe channel has its own connection, so that none delays another.
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_retries': 0,
    // `https_proxy` of the environment is for what leaves the platform; a proxy refuses links, or reads those without TLS.
    'grpc.enable_http_proxy': 0,
    'grpc.service_config_disable_resolution': 1,
    ...(tls?.serverName === undefined
      ? {}
      : { 'grpc.ssl_target_name_override': tls.serverName, 'grpc.default_authority': tls.serverName }),
  };
}
