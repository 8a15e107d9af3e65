import { clusterConfig, openRedisMembers, type Random, type Time } from '../../../cluster/index.js';
import { openStore } from '../storage/index.js';
import { readIdentity } from './cluster-identity.store.js';

/** What processes that do not state a version run. */
export const unstatedVersion = '0.1';

/** How many members of the installation's cluster run each version; empty if it has no cluster yet. */
export async function runningVersions(settings: {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly time: Time;
  readonly random: Random;
}): Promise<ReadonlyMap<string, number>> {
  const cluster = await clusterName(settings.databaseUrl);
  const versions = new Map<string, number>();
  if (cluster === undefined) return versions;
  const { view, leases } = await snapshotOf(settings, cluster);
  // A view that an older process made does not hold the versions; the leases are each process's own.
  const stated = new Map(leases.map(({ member }) => [member.process, member.version]));
  for (const { process } of view?.members ?? []) {
    // A member without a lease has ended.
    if (!stated.has(process)) continue;
    const version = stated.get(process) ?? unstatedVersion;
    versions.set(version, (versions.get(version) ?? 0) + 1);
  }
  return versions;
}

async function clusterName(databaseUrl: string): Promise<string | undefined> {
  const store = await openStore({ databaseUrl, process: 'versions' });
  try {
    const identity = await store.directory((tx) => readIdentity(tx));
    return identity === undefined ? undefined : clusterNameOf(identity);
  } finally {
    await store.close();
  }
}

async function snapshotOf(
  { redisUrl, time, random }: { readonly redisUrl: string; readonly time: Time; readonly random: Random },
  cluster: string,
) {
  const members = await openRedisMembers({
    url: redisUrl,
    cluster,
    config: clusterConfig(),
    random,
    time,
  });
  try {
    return await members.snapshot();
  } finally {
    await members.close();
  }
}

/** The name under which the nodes of one database meet in Redis. */
export function clusterNameOf({ name }: { readonly name: string }): string {
  return `troupe-${name}`;
}
