import test from 'ava';
import { ask, openAiAt, startVendor } from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { startTestNode, type TestNode } from '../support/servers/node.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const model = 'openai.gpt-4.1-mini';
const platform = 'sk-platform-0123456789';

async function secrets(node: TestNode, method: string, path: string, body?: object): Promise<string> {
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  const options = { token, tenant, ...(body !== undefined && { body }) };
  const { status, json, text } = await node.client.call(method, `/api/secrets${path}`, options);
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
  return json.data?.id ?? '';
}

test("a tenant's own key takes effect with the next call after each change, and soon on every node", async (t) => {
  const server = await startVendor(t, new OpenAiServer());
  const environment = openAiAt(server, platform);
  const one = await startTestNode(t, { environment });
  const { databaseUrl, dataDir } = one;
  const other = await startTestNode(t, { environment, databaseUrl, dataDir });
  const keyAt = async (node: TestNode): Promise<string | undefined> => {
    t.is((await ask(node, { model })).status, 200);
    return server.requests.at(-1)?.key;
  };
  for (const node of [one, other]) t.is(await keyAt(node), platform);
  const key = { name: 'own', kind: 'llm_key', provider: 'openai', value: 'sk-own-first-0001' };
  const id = await secrets(one, 'POST', '', key);
  t.is(await keyAt(one), 'sk-own-first-0001');
  await eventually(async () => (await keyAt(other)) === 'sk-own-first-0001');
  await secrets(one, 'PUT', `/${id}/value`, { value: 'sk-own-second-0002' });
  t.is(await keyAt(one), 'sk-own-second-0002');
  await eventually(async () => (await keyAt(other)) === 'sk-own-second-0002');
  await secrets(other, 'DELETE', `/${id}`);
  t.is(await keyAt(other), platform);
  await eventually(async () => (await keyAt(one)) === platform);
});
