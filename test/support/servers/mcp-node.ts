// A node whose demo tenant has room for many calls of MCP tools.
import { operatorToken, startTestNode, type TestNode } from './node.js';

export interface McpNode {
  readonly node: TestNode;
  readonly url: string;
  /** The key of the demo tenant's owner. */
  readonly key: string;
  /** A new key of the demo tenant with this role. */
  keyOf(role: string): Promise<string>;
}

export async function startMcpNode(t: { teardown(step: () => Promise<void>): void }): Promise<McpNode> {
  const node = await startTestNode(t, { environment: { TROUPE_SIM: 'on' } });
  const { access_token: token, tenant_id: tenant, api_key: key } = node.bootstrap;
  const plan = await node.client.call('PATCH', `/api/tenants/${tenant}/plan`, {
    token: operatorToken,
    body: { plan: 'enterprise' },
  });
  if (plan.status !== 200) throw new Error(plan.text);
  return {
    node,
    url: node.node.baseUrl,
    key,
    async keyOf(role) {
      const body = { name: `key of a ${role}`, role, rateLimitPerMinute: 1000 };
      const { json, text } = await node.client.call('POST', '/api/keys', { token, tenant, body });
      if (json.data === undefined) throw new Error(text);
      return json.data.api_key;
    },
  };
}
