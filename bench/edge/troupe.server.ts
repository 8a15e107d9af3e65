import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSettings } from '../../src/config/index.js';
import { createLog, LogDestination } from '../../src/diagnostics/index.js';
import { startNode } from '../../src/main.js';
import { startEmbeddedPostgres } from '../../src/storage/embedded/index.js';
import { serveBench } from '../support/servers.js';

// The whole product with everything on, and a key whose limits are out of the way.
const dataDir = await mkdtemp(join(tmpdir(), 'troupe-bench-'));
const database = await startEmbeddedPostgres({ directory: join(dataDir, 'postgres'), flush: false });
const operatorToken = 'operator-token-of-the-bench';
const settings = readSettings({
  DATABASE_URL: database.connectionString,
  TROUPE_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
  TROUPE_DATA_DIR: dataDir,
  TROUPE_HTTP_PORT: '0',
  TROUPE_SEED: 'demo',
  TROUPE_OPERATOR_TOKEN: operatorToken,
});
const log = createLog({ level: 'info', destination: new LogDestination('/dev/null') });
const node = await startNode({ settings, nodeId: 'bench', log });
const { bootstrap } = node;
if (bootstrap === undefined) throw new Error('the node was not seeded');

const answered = async (response: Response): Promise<Response> => {
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return response;
};
await answered(
  await fetch(`${node.baseUrl}/api/tenants/${bootstrap.tenant_id}/plan`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ settings: { key_rpm_max: 1_000_000_000 } }),
  }),
);
const made = await answered(
  await fetch(`${node.baseUrl}/api/keys`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${bootstrap.access_token}`,
      'x-tenant-id': bootstrap.tenant_id,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ name: 'bench', rateLimitPerMinute: 1_000_000_000 }),
  }),
);
const { data } = (await made.json()) as { data: { api_key: string } };

serveBench({ port: Number(new URL(node.baseUrl).port), facts: { key: data.api_key } }, async () => {
  await node.stop(AbortSignal.timeout(5_000));
  await database.stop();
  await rm(dataDir, { recursive: true, force: true });
});
