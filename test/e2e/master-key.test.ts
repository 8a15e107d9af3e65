import { randomBytes } from 'node:crypto';
import test from 'ava';
import { httpTool } from '../support/builders/published-agents.js';
import { platformOf } from '../support/builders/platform.js';
import { tenantScope } from '../../src/kernel/tenant-scope.js';
import { systemRandom } from '../../cluster/index.js';
import { systemPlatform } from '../../src/infra/platform/index.js';
import { clusterIdentity } from '../../src/infra/runtime/index.js';
import { createSealer } from '../../src/infra/sealing/index.js';
import { openStore } from '../../src/infra/storage/index.js';
import { createVault, VaultError } from '../../src/tenancy/vault/index.js';
import { startConversations } from '../support/servers/conversations.js';
import { eventually } from '../support/clocks/eventually.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import { startTestNode } from '../support/servers/node.js';
import { runProgram } from '../support/servers/program.js';

const oldKey = randomBytes(32);
const newKey = randomBytes(32);

const sealerOf = (masterKey: Uint8Array) =>
  createSealer({ masterKey, formerMasterKeys: [], random: systemPlatform.random });

function approvedTool(name: string, url: string): object {
  const { editor_schema, ...tool } = httpTool(name, `${url}/${name}/\${context.order}`) as {
    editor_schema: { api: object };
  };
  const parameters = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] };
  const api = { ...editor_schema.api, method: 'POST' };
  return { ...tool, parameters, editor_schema: { api, approval: 'always' } };
}

test('the command changes the master key of an installation while it runs', async (t) => {
  const [before, after] = [oldKey, newKey].map((key) => key.toString('base64'));
  if (before === undefined || after === undefined) return t.fail();
  const both = { TROUPE_MASTER_KEY: after, TROUPE_MASTER_KEYS_PREVIOUS: before };
  const first = await startTestNode(t, { environment: { TROUPE_MASTER_KEY: before } });
  const { databaseUrl, dataDir, bootstrap } = first;
  const caller = { token: bootstrap.access_token, tenant: bootstrap.tenant_id };
  const make = async ({ client }: typeof first, name: string) => {
    const body = { name, value: `value of ${name}`, kind: 'generic' };
    t.is((await client.call('POST', '/api/secrets', { ...caller, body })).status, 201);
  };
  await make(first, 'made-before');
  const store = await openStore({ databaseUrl });
  t.teardown(() => store.close());
  // Nodes with the operator's secret for their links leave the stored one as it is.
  const identity = { store, random: systemRandom, givenSecret: undefined };
  const links = await clusterIdentity({ ...identity, sealer: sealerOf(oldKey) });
  const body = { model: 'sim.echo', input: 'remember me' };
  const response = await first.client.call('POST', '/v1/responses', { key: bootstrap.api_key, body });
  t.is(response.status, 200, response.text);
  const talk = await startConversations(first);
  const note = { type: 'file', name: 'note.txt', data: Buffer.from('sealed words').toString('base64') };
  const { sessionId } = await talk.say({ message: 'keep it', attachments: [note] });
  const tools = await startToolServer(t, (_, answer) => answerJson(answer, { paid: true }));
  const agentId = await talk.agent(
    'sim.tools',
    {},
    ['pay', 'ship'].map((name) => approvedTool(name, tools.url)),
  );
  // The turn waits from the first node to the last; one of its calls gets other arguments before the key changes.
  const wanted = { message: 'pay and ship amount: 7', context: { order: 'A-7' } };
  talk.say(wanted, { agentId }).catch(() => undefined);
  const pending = await eventually(async () => {
    const { data } = await talk.get('/api/v1/approvals?status=pending');
    return data.length === 2 ? data : undefined;
  });
  const approvalOf = (tool: string): string => pending.find((one: { tool: string }) => one.tool === tool).id;
  const edited = { decision: 'approve', arguments: { amount: 9 } };
  t.is((await talk.post(`/api/v1/approvals/${approvalOf('pay')}`, edited)).status, 200);
  const creation = { ...caller, body: { name: 'once' }, headers: { 'idempotency-key': 'before' } };
  const created = await first.client.call('POST', '/api/agents', creation);
  t.is(created.status, 201, created.text);

  const restarted = await startTestNode(t, { databaseUrl, dataDir, environment: both });
  await make(restarted, 'made-between');
  await make(first, 'made-by-the-old-one');
  await first.stop();
  const rotation = runProgram('bin/troupe.mjs', ['vault', 'rotate'], {
    DATABASE_URL: databaseUrl,
    TROUPE_DATA_DIR: dataDir,
    ...both,
  });
  t.is(await rotation.ended, 0, rotation.output());
  t.regex(rotation.output(), /1 data keys were wrapped again/);
  await make(restarted, 'made-after');
  await restarted.stop();

  const last = await startTestNode(t, { databaseUrl, dataDir, environment: { TROUPE_MASTER_KEY: after } });
  const listed = await last.client.call('GET', '/api/secrets', caller);
  t.is(listed.json.count, 4, 'the token of the first node is good at the last one');
  const again = { model: 'sim.echo', input: 'and', previous_response_id: response.json.id };
  const continued = await last.client.call('POST', '/v1/responses', { key: bootstrap.api_key, body: again });
  t.is(continued.json.output[0].content[0].text, 'echo: and', continued.text);
  const replayed = await last.client.call('POST', '/api/agents', creation);
  t.is(replayed.headers.get('idempotent-replayed'), 'true', replayed.text);
  t.is(replayed.text, created.text);
  const key = bootstrap.api_key;
  const decision = { key, body: { decision: 'approve' } };
  // The session may still be moving to the new node.
  const decided = await eventually(async () => {
    const answer = await last.client.call('POST', `/api/v1/approvals/${approvalOf('ship')}`, decision);
    return answer.status === 503 ? undefined : answer;
  });
  t.is(decided.status, 200, decided.text);
  t.deepEqual(decided.json.data.arguments, { amount: 7 });
  const turn = await eventually(async () => {
    const path = `/api/v1/executions/${decided.json.data.execution_id}`;
    const { json } = await last.client.call('GET', path, { key });
    return json.data.outcome === null ? undefined : json.data;
  });
  t.is(turn.outcome, 'COMPLETED');
  const called = tools.heard.map(({ path, body: given }) => `${path} ${given}`);
  t.deepEqual(called.toSorted(), ['/pay/A-7 {"amount":9}', '/ship/A-7 {"amount":7}']);
  const messages = await last.client.call('GET', `/api/v1/sessions/${sessionId}/messages`, { key });
  const { id } = messages.json.data[0].attachments[0];
  t.is((await last.client.call('GET', `/api/v1/attachments/${id}`, { key })).text, 'sealed words');
  t.deepEqual(await clusterIdentity({ ...identity, sealer: sealerOf(newKey) }), links);
  const vault = createVault(platformOf({ store }), { masterKey: newKey, providers: () => [] });
  for (const name of ['made-before', 'made-between', 'made-by-the-old-one', 'made-after']) {
    const { value } = await vault.resolve(tenantScope(bootstrap.tenant_id), name);
    t.is(value.reveal(), `value of ${name}`);
  }
  await t.throwsAsync(
    startTestNode(t, { databaseUrl, dataDir, environment: { TROUPE_MASTER_KEY: before } }),
    {
      instanceOf: VaultError,
      message: /TROUPE_MASTER_KEY is not the master key of this database/,
    },
  );
});
