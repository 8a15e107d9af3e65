import type { Kind } from '../../cluster/activation/kind.js';
import { clusterConfig, type ClusterConfig } from '../../cluster/config.js';
import { processId } from '../../cluster/ids/ids.js';
import { GrpcPeers } from '../../cluster/links/grpc/peers.js';
import type { Listener, Pipe, Transport } from '../../cluster/links/pipe.js';
import { LocalMembership } from '../../cluster/membership/local/membership.js';
import type { Member, Membership } from '../../cluster/membership/membership.js';
import { ClusterNode } from '../../cluster/node/node.js';
import { systemRandom, systemTime } from '../../cluster/time/system.js';

export function memberOf(name: string, address: string): Member {
  return { process: processId(name), address, weight: 1, roles: ['worker'], host: 'bench', pid: process.pid };
}

const noTransport: Transport = {
  dial: (): Promise<Pipe> => Promise.reject(new Error('a single node has no peers to dial')),
  listen: (): Promise<Listener> => Promise.resolve({ address: '', close: () => Promise.resolve() }),
};

export async function startLocalNode(
  kinds: readonly Kind[],
  changes: Partial<ClusterConfig> = {},
): Promise<ClusterNode> {
  const node = nodeOver(kinds, new LocalMembership(memberOf('bench', '127.0.0.1:0')), noTransport, changes);
  await node.start(new AbortController().signal);
  return node;
}

export function nodeOver(
  kinds: readonly Kind[],
  membership: Membership,
  transport: Transport,
  changes: Partial<ClusterConfig> = {},
): ClusterNode {
  return new ClusterNode({
    kinds,
    membership,
    transport,
    link: { cluster: 'bench', secret: 'bench' },
    config: clusterConfig(changes),
    time: systemTime,
    random: systemRandom,
  });
}

export function peersOf(name: string, port: number): GrpcPeers {
  const settings = { self: processId(name), cluster: 'bench', secret: 'bench', host: '127.0.0.1', port };
  return new GrpcPeers(settings, clusterConfig(), systemTime, systemRandom);
}
