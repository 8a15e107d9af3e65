// The data for MCP tools, created only by requests: for a node in this process and for separate processes.
import pg from 'pg';
import type { Bootstrap } from '../../../src/app/seed/index.js';
import type { Surroundings } from '../builders/every-tool.js';
import { registerAt } from '../builders/people.js';
import type { Client, Json } from '../clients/client.js';
import { eventually } from '../clocks/eventually.js';
import { answerJson, startMcpServer, startToolServer } from './tool-servers.js';

export interface Served {
  readonly client: Client;
  readonly bootstrap: Bootstrap;
  readonly databaseUrl: string;
}

/** Needs `TROUPE_EGRESS_ALLOW` for this machine. */
export async function mcpSurroundings(
  t: { teardown(work: () => Promise<void>): void },
  { client, bootstrap, databaseUrl }: Served,
): Promise<Surroundings> {
  const { access_token: token, tenant_id: tenant, api_key: key, agent_id: agentId } = bootstrap;
  const asOwner = async (method: string, path: string, body?: object): Promise<Json> => {
    const { status, json, text } = await client.call(method, path, { token, tenant, ...(body && { body }) });
    if (status >= 300) throw new Error(`${method} ${path}: ${text}`);
    return json;
  };
  const tool = await startToolServer(t, ({ path }, response) =>
    answerJson(response, {}, path === '/refuses' ? 400 : 200),
  );
  const mcp = await startMcpServer(t);
  const trigger = await asOwner('POST', '/api/triggers', {
    agent_id: agentId,
    name: 'refused answers',
    trigger_type: 'webhook',
    trigger_config: {
      auth: { type: 'none' },
      sender_access: { mode: 'any', identity_field: 'from' },
      execution: { mode: 'async', callback: { url: `${tool.url}/refuses` } },
    },
  });
  await client.call('POST', `/api/triggers/webhook/${trigger.data.id}`, {
    body: { message: 'hello', from: `person ${trigger.data.id}` },
  });
  const dead = await eventually(async () => {
    const { data } = await asOwner('GET', `/api/v1/deliveries?status=dead&trigger_id=${trigger.data.id}`);
    return data[0];
  });
  const session = await client.call('GET', `/api/v1/sessions/${dead.session_id}`, { key });
  // From now on answers arrive, so that a manual message and a replay do.
  await asOwner('PATCH', `/api/triggers/${trigger.data.id}`, {
    trigger_config: { execution: { callback: { url: `${tool.url}/takes` } } },
  });
  const newKey = await asOwner('POST', '/api/keys', { name: 'to be revoked', role: 'member' });
  const member = await registerAt(client);
  await addMembership(databaseUrl, tenant, member.id);
  const { hostname, port, pathname, username, password } = new URL(databaseUrl);
  await client.call('POST', '/api/v3/llm/public/call', { key, body: { query: 'hello', model: 'sim.echo' } });
  return {
    toolServerUrl: tool.url,
    mcpServerUrl: mcp.url,
    database: { host: hostname, port: Number(port), name: pathname.slice(1), user: username, password },
    memberId: member.id,
    keyId: newKey.data.id,
    handedOff: {
      sessionId: dead.session_id,
      consumerKey: session.json.data.consumer_key,
      deadLetterId: dead.id,
    },
  };
}

async function addMembership(databaseUrl: string, tenant: string, user: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('set role troupe_directory');
    await client.query(`insert into memberships (tenant_id, user_id, role) values ($1, $2, 'member')`, [
      tenant,
      user,
    ]);
  } finally {
    await client.end();
  }
}
