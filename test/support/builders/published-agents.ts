import type { Bootstrap } from '../../../src/app/seed/index.js';
import type { Client } from '../clients/client.js';

export interface AgentToPublish {
  readonly model: string;
  readonly more?: object;
  /** Its tools, as `POST /api/agents/:id/schemas` takes them. */
  readonly schemas?: readonly object[];
}

/** Every name is used once in a tenant. */
let named = 0;

/** The id of a new agent of the tenant, which runs. */
export async function publishAgent(
  client: Client,
  { access_token: token, tenant_id: tenant }: Pick<Bootstrap, 'access_token' | 'tenant_id'>,
  { model, more = {}, schemas = [] }: AgentToPublish,
): Promise<string> {
  const post = async (path: string, body: object): Promise<string> => {
    const { status, json, text } = await client.call('POST', path, { token, tenant, body });
    if (status !== 200 && status !== 201) throw new Error(`POST ${path}: ${text}`);
    return String(json.data?.id);
  };
  named += 1;
  const id = await post('/api/agents', { name: `agent-${named}`, llm_config: { model }, ...more });
  for (const schema of schemas) await post(`/api/agents/${id}/schemas`, schema);
  await post(`/api/agents/${id}/publish`, {});
  return id;
}

/** A tool that posts what the model says to this address. */
export function httpTool(name: string, url: string, more: object = {}): object {
  return { name, type: 'api', editor_schema: { api: { url, auth: { type: 'none' }, ...more } } };
}
