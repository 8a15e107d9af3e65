// The whole platform with two tenants of the same plan: a calm one and a hot one, each with a key, an agent that echoes
// and a trigger. The answers of triggers go to BENCH_RECEIVER.
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { serveBench } from '../support/servers.js';
import { operatorToken, startWholeNode } from '../support/whole-node.js';
import { asyncTrigger } from '../webhooks/trigger.js';

const receiver = process.env['BENCH_RECEIVER'] ?? '';
if (receiver === '') throw new Error('BENCH_RECEIVER must be the address that receives the answers');
const databaseUrl = process.env['BENCH_DATABASE'];
if (databaseUrl === undefined) throw new Error('BENCH_DATABASE must be the address of the database');
const node = await startWholeNode(databaseUrl, { TROUPE_EGRESS_ALLOW: '127.0.0.0/8' });

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
const madeKey = z.object({ data: z.object({ api_key: z.string() }) });
const madeTrigger = z.object({ data: z.object({ id: z.uuid(), webhook_secret: z.string() }) });

async function makeTenant(name: string): Promise<Record<string, string>> {
  const account = { email: `${randomUUID()}@bench.example`, password: 'correct horse battery' };
  const { data } = registered.parse(await post('/api/auth/register', account, {}));
  const tenant = data.tenants[0]?.id ?? '';
  const settings = {
    requests_per_minute: 1_000_000,
    requests_per_day: 1_000_000_000,
    key_rpm_max: 1_000_000_000,
    monthly_tokens: 1_000_000_000_000,
  };
  const operator = { authorization: `Bearer ${operatorToken}` };
  await post(`/api/tenants/${tenant}/plan`, { plan: 'enterprise', settings }, operator, 'PATCH');
  const owner = { authorization: `Bearer ${data.access_token}`, 'x-tenant-id': tenant };
  const key = madeKey.parse(
    await post('/api/keys', { name: 'bench', role: 'admin', rateLimitPerMinute: 1_000_000_000 }, owner),
  );
  const agent = { name: 'bench', llm_config: { model: 'sim.echo' } };
  const { id: agentId } = made.parse(await post('/api/agents', agent, owner)).data;
  await post(`/api/agents/${agentId}/publish`, {}, owner);
  const trigger = madeTrigger.parse(
    await post('/api/triggers', asyncTrigger(agentId, receiver, false), owner),
  );
  return {
    [`${name}Tenant`]: tenant,
    [`${name}Token`]: data.access_token,
    [`${name}Key`]: key.data.api_key,
    [`${name}Agent`]: agentId,
    [`${name}Path`]: `/api/triggers/webhook/${trigger.data.id}`,
    [`${name}Secret`]: trigger.data.webhook_secret,
  };
}

const facts = {
  ...(await makeTenant('calm')),
  ...(await makeTenant('hot')),
};

serveBench({ port: node.port, facts }, () => node.stop());
