import type { Kind } from '../activation/kind.js';
import { clusterConfig, type ClusterConfig } from '../config.js';
import { ClusterError } from '../errors.js';
import type { ProcessId } from '../ids/ids.js';
import type { Transport } from '../links/pipe.js';
import { spokenProtocols } from '../links/protocol.js';
import { LocalMembership } from '../membership/local/membership.js';
import { hostName } from '../membership/watchdog/host.js';
import { SystemLoopLag } from '../time/loop-lag.js';
import { systemRandom, systemTime } from '../time/system.js';
import type { ClusteredNode } from './clustered-node.js';
import { ClusterNode } from './node.js';

export interface LoneNodeOptions {
  readonly kinds: readonly Kind[];
  readonly process: ProcessId;
  /** The version of the program, which descriptions show. */
  readonly version?: string;
  readonly config?: Partial<ClusterConfig>;
}

const noPeers: Transport = {
  dial: () => Promise.reject(new ClusterError('peer_lost', 'a single node has no peers to dial')),
  listen: () => Promise.resolve({ address: '', close: () => Promise.resolve() }),
};

/** A node that is the whole cluster: no listener, no member store; it owns every slot. */
export async function openLoneNode(options: LoneNodeOptions): Promise<ClusteredNode> {
  const self = {
    process: options.process,
    address: '',
    weight: 1,
    roles: ['edge', 'worker'] as const,
    host: hostName(),
    pid: process.pid,
    ...(options.version === undefined ? {} : { version: options.version }),
    protocols: spokenProtocols,
  };
  const loopLag = new SystemLoopLag();
  const node = new ClusterNode({
    kinds: options.kinds,
    membership: new LocalMembership(self),
    transport: noPeers,
    link: { cluster: 'alone', secret: 'alone' },
    config: clusterConfig(options.config),
    time: systemTime,
    random: systemRandom,
    loopLag,
  });
  await node.start(new AbortController().signal);
  return { node, stop: (signal) => node.stop(signal).finally(() => loopLag.stop()) };
}
