// Triggers of a tenant on a whole node, and the servers that their answers go to.
import { createHmac, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { CallResult, Json } from '../clients/client.js';
import { tenantView } from '../database/owner-view.js';
import type { TenantNode } from '../servers/node.js';

/** What a tenant's requests need of a node, in this process or another. */
export type TenantAccess = Pick<TenantNode, 'client' | 'bootstrap'>;

export interface TestTrigger {
  readonly id: string;
  readonly secret: string;
  /** Path of the webhook. */
  readonly path: string;
}

export async function createTrigger(
  node: TenantAccess,
  trigger_config: Readonly<Record<string, unknown>>,
  trigger_type = 'webhook',
): Promise<TestTrigger> {
  const body = {
    agent_id: node.bootstrap.agent_id,
    name: `trigger ${randomUUID()}`,
    trigger_type,
    trigger_config,
  };
  const { status, json, text } = await asOwner(node, 'POST', '/api/triggers', body);
  if (status !== 201) throw new Error(`creating a trigger: ${status} ${text}`);
  const { id, webhook_secret: secret } = json.data;
  return { id, secret, path: `/api/triggers/webhook/${id}` };
}

export function asOwner(
  node: TenantAccess,
  method: string,
  path: string,
  body?: unknown,
): Promise<CallResult> {
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  return node.client.call(method, path, { token, tenant, ...(body === undefined ? {} : { body }) });
}

/** A request signed as the documents say. */
export function sendSigned(
  node: TenantAccess,
  { path, secret }: TestTrigger,
  payload: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<CallResult> {
  const body = JSON.stringify(payload);
  const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
  return node.client.call('POST', path, { body, headers: { 'x-webhook-signature': signature, ...headers } });
}

export async function addSecret(node: TenantAccess, name: string, value: string): Promise<void> {
  const { status, text } = await asOwner(node, 'POST', '/api/secrets', { name, value, kind: 'generic' });
  if (status !== 201) throw new Error(`adding a secret: ${status} ${text}`);
}

/** Lets the time of all buffers of the tenant be over. */
export async function endBuffers(node: TenantNode): Promise<void> {
  const rows = await tenantView(node);
  await rows.query("update trigger_windows set due_at = now() - interval '2 seconds', look_at = now()");
  await rows.end();
}

/** Lets the time of the next look at each source of the tenant be now. */
export async function lookNow(node: TenantNode): Promise<void> {
  const rows = await tenantView(node);
  await rows.query('update trigger_sources set due_at = now() where due_at > now()');
  await rows.end();
}

export function executionsOf(node: TenantAccess, { id }: TestTrigger): Promise<Json[]> {
  return look(node, `/api/triggers/${id}/executions?limit=100`);
}

export function executionOf(node: TenantAccess, { id }: TestTrigger, executionId: string): Promise<Json> {
  return look(node, `/api/triggers/${id}/executions/${executionId}`);
}

/** A test that waits looks often, and a user has 300 requests a minute: while the window is full, it waits. */
async function look(node: TenantAccess, path: string): Promise<Json> {
  for (;;) {
    const { status, headers, json } = await asOwner(node, 'GET', path);
    if (status !== 429) return json.data;
    await delay(1_000 * Number(headers.get('retry-after')));
  }
}
