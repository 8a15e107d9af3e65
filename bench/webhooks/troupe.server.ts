import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../src/infra/storage/index.js';
import { serveBench } from '../support/servers.js';
import { startWholeNode } from '../support/whole-node.js';
import { asyncTrigger } from './trigger.js';

// The whole platform with a buffer, so that mainly the intake is measured and hardly any turn.
const directory = await mkdtemp(join(tmpdir(), 'troupe-bench-'));
const database = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), flush: false });
const node = await startWholeNode(database.connectionString, { TROUPE_EGRESS_ALLOW: '127.0.0.0/8' });
const response = await fetch(`http://127.0.0.1:${node.port}/api/triggers`, {
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    authorization: `Bearer ${node.owner.token}`,
    'x-tenant-id': node.owner.tenantId,
  },
  body: JSON.stringify(asyncTrigger(node.owner.agentId, 'http://127.0.0.1:9999/no-receiver', true)),
});
const { data } = (await response.json()) as { data: { id: string; webhook_secret: string } };
const facts = { path: `/api/triggers/webhook/${data.id}`, secret: data.webhook_secret };

serveBench({ port: node.port, facts }, async () => {
  await node.stop();
  await database.stop();
  await rm(directory, { recursive: true, force: true });
});
