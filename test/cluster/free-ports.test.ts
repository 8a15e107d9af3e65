import test from 'ava';
import { volatileCounter } from '../../cluster/example/counter.js';
import { openClusteredNode, type ClusteredNode } from '../../cluster/node/clustered-node.js';
import { systemTime } from '../../cluster/time/system.js';
import { createDatabase } from '../support/database/database.js';
import { eventually } from '../support/clocks/eventually.js';
import { PrivateRedis } from '../support/servers/redis.js';

test('nodes with port 0 announce their assigned ports and reach each other', async (t) => {
  const database = await createDatabase(t);
  const redis = await PrivateRedis.start();
  t.teardown(() => redis.stop());
  const kind = volatileCounter(systemTime);
  const open = async (): Promise<ClusteredNode> => {
    const opened = await openClusteredNode({
      kinds: [kind],
      cluster: 'free-ports',
      secret: 'a secret of the test',
      redisUrl: redis.url,
      databaseUrl: database.url,
      databaseRole: 'troupe_writer',
      roles: ['worker'],
      host: '127.0.0.1',
      port: 0,
      seesExits: false,
    });
    t.teardown(() => opened.stop());
    return opened;
  };
  const nodes = [await open(), await open()];
  const bothIn = ({ node }: ClusteredNode): boolean => node.describe().members.length === 2;
  await eventually(() => nodes.every(bothIn), { what: 'both are members' });
  for (const { node } of nodes) {
    for (const { address } of node.describe().members) t.regex(address, /^127\.0\.0\.1:[1-9]\d*$/);
    const places = new Set<string>();
    for (let key = 0; places.size < 2 && key < 200; key += 1) {
      places.add((await node.actor(kind, 'a group', `k${key}`).where({})).process);
    }
    t.is(places.size, 2, 'actors of both were called');
  }
});
