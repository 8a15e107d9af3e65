// Whole nodes with a PostgreSQL and a Redis of their own, an agent that echoes, and a key without a limit to speak of.
import { publishAgent } from '../../test/support/builders/published-agents.js';
import { startNodes, type NodeProcesses } from '../../test/support/servers/nodes.js';
import { PrivateRedis } from '../../test/support/servers/redis.js';
import { first, liftLimits } from '../failover/setup.js';
import { startDatabase } from '../support/database.js';

export async function withNodes(
  count: number,
  work: (cluster: NodeProcesses, key: string, agentId: string) => Promise<void>,
): Promise<void> {
  const undo: (() => Promise<void>)[] = [];
  const database = await startDatabase();
  undo.push(() => database.stop());
  const redis = await PrivateRedis.start();
  undo.push(() => redis.stop());
  try {
    const atEnd = { teardown: (step: () => Promise<void>) => void undo.push(step) };
    const cluster = await startNodes(atEnd, { count, databaseUrl: database.url, redisUrl: redis.url });
    const admin = first(cluster);
    await liftLimits(cluster, admin);
    const { access_token: token, tenant_id: tenant } = cluster.bootstrap;
    const { status, json, text } = await admin.client.call('POST', '/api/keys', {
      token,
      tenant,
      body: { name: 'bench', rateLimitPerMinute: 1_000_000 },
    });
    if (status !== 201) throw new Error(`POST /api/keys: ${status} ${text}`);
    const agentId = await publishAgent(admin.client, cluster.bootstrap, { model: 'sim.echo' });
    await work(cluster, json.data.api_key, agentId);
  } finally {
    for (const step of undo.toReversed()) await step();
  }
}
