import test, { type ExecutionContext } from 'ava';
import { ClusterError } from '../../../cluster/errors.js';
import { openClusteredNode } from '../../../cluster/node/clustered-node.js';
import { databaseOfFile } from '../../support/database/database.js';
import { freePort } from '../../support/servers/free-port.js';
import { PrivateRedis } from '../../support/servers/redis.js';

const database = databaseOfFile(test);

async function refused(t: ExecutionContext, redisUrl: string, databaseUrl: string) {
  const port = await freePort();
  const node = { cluster: 'start', secret: 'secret', host: '127.0.0.1', port, roles: ['worker'] as const };
  const opening = openClusteredNode({ ...node, redisUrl, databaseUrl, kinds: [] });
  return t.throwsAsync(opening, { instanceOf: ClusterError });
}

test('the start fails with an error that names Redis if Redis cannot be reached', async (t) => {
  const error = await refused(t, `redis://127.0.0.1:${await freePort()}`, database.url);
  t.is(error?.tag, 'membership_unavailable');
  t.regex(error?.message ?? '', /Redis/);
});

test('the start fails with an error that names PostgreSQL if it cannot be reached', async (t) => {
  const redis = await PrivateRedis.start({ persist: false });
  t.teardown(() => redis.stop());
  const error = await refused(t, redis.url, `postgres://nobody@127.0.0.1:${await freePort()}/nothing`);
  t.is(error?.tag, 'store_unavailable');
  t.regex(error?.message ?? '', /PostgreSQL/);
});
