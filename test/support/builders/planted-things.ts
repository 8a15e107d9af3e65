// A tenant with one thing of every kind that a path can name, and a word in each that no other tenant may see.
import { randomUUID } from 'node:crypto';
import { eventually } from '../clocks/eventually.js';
import { ownerView } from '../database/owner-view.js';
import { startConversations } from '../servers/conversations.js';
import type { TenantNode } from '../servers/node.js';
import { httpTool } from './published-agents.js';
import { asOwner, createTrigger } from './triggers.js';

/** By the part of the path before the parameter, such as `sessions` in `/api/v1/sessions/:id`. */
export type PlantedThings = Readonly<Record<string, string>>;

export async function plantThings(node: TenantNode, word: string): Promise<PlantedThings> {
  const { bootstrap, client } = node;
  const { tenant_id: tenantId, agent_id: agentId } = bootstrap;
  const make = async (path: string, body: object): Promise<string> => {
    const { status, json, text } = await asOwner(node, 'POST', path, body);
    if (status >= 300) throw new Error(`POST ${path}: ${status} ${text}`);
    return String(json.data.id);
  };
  const things: Record<string, string> = { tenants: tenantId, agents: agentId, versions: '1' };
  things['schemas'] = await make(
    `/api/agents/${agentId}/schemas`,
    httpTool(word, `https://${word}.example.com/tool`),
  );
  things['invites'] = await make(`/api/tenants/${tenantId}/invites`, {
    email: `${word}@test.example`,
    role: 'member',
  });
  things['secrets'] = await make('/api/secrets', { name: word, value: word, kind: 'generic' });
  things['mail-domains'] = await make('/api/mail-domains', { domain: `${word}.example` });
  things['database-configs'] = await make('/api/database-configs', {
    name: word,
    provider: 'postgresql',
    connection_config: {
      host: '127.0.0.1',
      port: 1,
      database: word,
      username: word,
      password: word,
      ssl: false,
    },
  });
  const [key] = (await asOwner(node, 'GET', '/api/keys')).json.data;
  things['keys'] = key.id;
  const [member] = (await asOwner(node, 'GET', `/api/tenants/${tenantId}/members`)).json.data;
  things['members'] = member.user_id ?? member.id;
  things['triggers'] = (await createTrigger(node, { context_mapping: { note: `$.${word}` } })).id;

  const talk = await startConversations(node);
  const turn = await talk.say(
    {
      message: `tell of ${word}`,
      consumer_key: word,
      metadata: { trace_id: word },
      attachments: [{ type: 'file', name: `${word}.txt`, data: Buffer.from(word).toString('base64') }],
    },
    { agentId },
  );
  things['consumers'] = word;
  things['sessions'] = turn.sessionId;
  const messages = await talk.get(`/api/v1/sessions/${turn.sessionId}/messages`);
  things['attachments'] = messages.data[0].attachments[0].id;
  const [execution] = (await talk.get('/api/v1/executions')).data;
  things['executions'] = execution.id;
  const response = await client.call('POST', '/v1/responses', {
    key: bootstrap.api_key,
    body: { model: 'sim.echo', input: word },
  });
  if (response.status !== 200) throw new Error(`POST /v1/responses: ${response.status} ${response.text}`);
  things['responses'] = response.json.id;

  const [call] = (await asOwner(node, 'GET', '/api/telemetry/logs?limit=1')).json.data;
  things['logs'] = call.id;

  const asking = httpTool('pay', `https://${word}.example.com/pay`) as { editor_schema: object };
  const payer = await talk.agent('sim.tools', {}, [
    { ...asking, editor_schema: { ...asking.editor_schema, approval: 'always' } },
  ]);
  // The turn waits for the decision as long as the node runs.
  talk.say({ message: `pay ${word}` }, { agentId: payer }).catch(() => undefined);
  const approval = await eventually(async () => (await talk.get('/api/v1/approvals')).data[0]);
  things['approvals'] = approval.id;

  // What a receiver that refuses would leave.
  things['deliveries'] = randomUUID();
  const owner = await ownerView(node.databaseUrl);
  await owner.query(
    `insert into deliveries (tenant_id, id, session_id, trigger_id, key, status, chunk_total, sealed, last_error,
       finished_at)
     values ($1, $2, $3, $4, $5, 'delivery_failed', 1, 'none', $5, now())`,
    [tenantId, things['deliveries'], turn.sessionId, things['triggers'], word],
  );
  await owner.end();
  return things;
}
