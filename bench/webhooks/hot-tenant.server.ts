import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { startEmbeddedPostgres } from '../../src/infra/storage/index.js';
import { serveBench } from '../support/servers.js';
import { operatorToken, startWholeNode } from '../support/whole-node.js';
import { asyncTrigger } from './trigger.js';

// The whole platform with three tenants: a calm one whose messages run at once, a hot one limited to the calm one's
// rate, and an unlimited hot one whose messages wait in buffers, so that its turns are not measured.
const receiver = process.env['BENCH_RECEIVER'] ?? '';
const perMinute = Number(process.env['BENCH_PER_MINUTE']);
if (receiver === '') throw new Error('BENCH_RECEIVER must be the address that receives the answers');
const directory = await mkdtemp(join(tmpdir(), 'troupe-bench-'));
const database = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), flush: false });
const node = await startWholeNode(database.connectionString, { TROUPE_EGRESS_ALLOW: '127.0.0.0/8' });

async function post(path: string, body: object, headers: Record<string, string>, method = 'POST') {
  const response = await fetch(`http://127.0.0.1:${node.port}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

const registered = z.object({
  data: z.object({ access_token: z.string(), tenants: z.array(z.object({ id: z.uuid() })) }),
});
const made = z.object({ data: z.object({ id: z.uuid() }) });
const madeTrigger = z.object({ data: z.object({ id: z.uuid(), webhook_secret: z.string() }) });

async function makeTenant(requestsPerMinute: number, buffered: boolean) {
  const account = { email: `${randomUUID()}@bench.example`, password: 'correct horse battery' };
  const { data } = registered.parse(await post('/api/auth/register', account, {}));
  const tenantId = data.tenants[0]?.id ?? '';
  const settings = { requests_per_minute: requestsPerMinute, requests_per_day: 1_000_000_000 };
  const operator = { authorization: `Bearer ${operatorToken}` };
  await post(`/api/tenants/${tenantId}/plan`, { plan: 'enterprise', settings }, operator, 'PATCH');
  const owner = { authorization: `Bearer ${data.access_token}`, 'x-tenant-id': tenantId };
  const agent = { name: 'bench', llm_config: { model: 'sim.echo' } };
  const { id: agentId } = made.parse(await post('/api/agents', agent, owner)).data;
  await post(`/api/agents/${agentId}/publish`, {}, owner);
  const trigger = asyncTrigger(agentId, receiver, buffered);
  return madeTrigger.parse(await post('/api/triggers', trigger, owner)).data;
}

const calm = await makeTenant(1_000_000, false);
const limited = await makeTenant(perMinute, false);
const free = await makeTenant(1_000_000, true);
const path = ({ id }: { readonly id: string }): string => `/api/triggers/webhook/${id}`;
const facts = {
  calmPath: path(calm),
  calmSecret: calm.webhook_secret,
  limitedPath: path(limited),
  limitedSecret: limited.webhook_secret,
  freePath: path(free),
  freeSecret: free.webhook_secret,
};

serveBench({ port: node.port, facts }, async () => {
  await node.stop();
  await database.stop();
  await rm(directory, { recursive: true, force: true });
});
