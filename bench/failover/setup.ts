// What a load needs of the first node: room, and triggers.
import { operatorToken } from '../../test/support/servers/node.js';
import type { NodeProcess, NodeProcesses } from '../../test/support/servers/nodes.js';
import type { Target } from './load.js';

export function first({ nodes: [node] }: NodeProcesses): NodeProcess {
  if (node === undefined) throw new Error('no node was started');
  return node;
}

export interface Owner {
  readonly token: string;
  readonly tenant: string;
}

export async function liftLimits({ bootstrap }: NodeProcesses, { client }: NodeProcess): Promise<void> {
  const settings = {
    requests_per_minute: 1_000_000,
    requests_per_day: 1_000_000_000,
    key_rpm_max: 1_000_000,
  };
  const path = `/api/tenants/${bootstrap.tenant_id}/plan`;
  const body = { plan: 'enterprise', settings };
  const { status, text } = await client.call('PATCH', path, { token: operatorToken, body });
  if (status !== 200) throw new Error(`PATCH ${path}: ${status} ${text}`);
}

async function makeTrigger({ client }: NodeProcess, owner: Owner, body: object) {
  const { status, json, text } = await client.call('POST', '/api/triggers', { ...owner, body });
  if (status !== 200 && status !== 201) throw new Error(`POST /api/triggers: ${status} ${text}`);
  return json.data;
}

export async function makeWebhook(
  node: NodeProcess,
  owner: Owner,
  agentId: string,
  url: string,
): Promise<Target> {
  const made = await makeTrigger(node, owner, {
    agent_id: agentId,
    name: 'webhook',
    trigger_type: 'webhook',
    trigger_config: {
      session_strategy: { mode: 'derive', fields: ['user'] },
      execution: { mode: 'async', callback: { url }, message_buffer: { enabled: false } },
    },
  });
  return { path: `/api/triggers/webhook/${String(made.id)}`, secret: String(made.webhook_secret) };
}

/** Returns its id. */
export async function makeSchedule(node: NodeProcess, owner: Owner, agentId: string): Promise<string> {
  const made = await makeTrigger(node, owner, {
    agent_id: agentId,
    name: 'each second',
    trigger_type: 'schedule',
    trigger_config: { cron: '* * * * * *', message: 'tick', allow_overlap: true },
  });
  return String(made.id);
}

export async function disableTrigger({ client }: NodeProcess, owner: Owner, id: string): Promise<void> {
  const { status, text } = await client.call('PATCH', `/api/triggers/${id}`, {
    ...owner,
    body: { enabled: false },
  });
  if (status !== 200) throw new Error(`PATCH /api/triggers/${id}: ${status} ${text}`);
}
