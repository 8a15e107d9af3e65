// The whole platform with an agent on the model `sim.echo`.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { z } from 'zod';
import { serveBench } from '../support/servers.js';
import { startWholeNode } from '../support/whole-node.js';

// Resident memory is reported after a garbage collection.
setFlagsFromString('--expose-gc');
globalThis.gc = runInNewContext('gc') as NonNullable<typeof globalThis.gc>;

const databaseUrl = process.env['BENCH_DATABASE'];
if (databaseUrl === undefined) throw new Error('BENCH_DATABASE must be the address of the database');
const node = await startWholeNode(databaseUrl, {});
const headers = {
  authorization: `Bearer ${node.owner.token}`,
  'x-tenant-id': node.owner.tenantId,
  'content-type': 'application/json',
};
const made = z.object({ data: z.object({ id: z.uuid() }) });

async function post(path: string, body: object): Promise<unknown> {
  const url = `http://127.0.0.1:${node.port}${path}`;
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

const agent = made.parse(await post('/api/agents', { name: 'bench', llm_config: { model: 'sim.echo' } })).data
  .id;
await post(`/api/agents/${agent}/publish`, {});
serveBench({ port: node.port, facts: { key: node.key, agent } }, node.stop);
