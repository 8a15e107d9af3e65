import { randomBytes } from 'node:crypto';
import test from 'ava';
import { platformOf } from '../support/builders/platform.js';
import { tenantScope } from '../../src/kernel/tenant-scope.js';
import { openStore } from '../../src/infra/storage/index.js';
import { createVault, VaultError } from '../../src/tenancy/vault/index.js';
import { startConversations } from '../support/servers/conversations.js';
import { startTestNode } from '../support/servers/node.js';
import { runProgram } from '../support/servers/program.js';

const oldKey = randomBytes(32);
const newKey = randomBytes(32);

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
  const body = { model: 'sim.echo', input: 'remember me' };
  const response = await first.client.call('POST', '/v1/responses', { key: bootstrap.api_key, body });
  t.is(response.status, 200, response.text);
  const talk = await startConversations(first);
  const note = { type: 'file', name: 'note.txt', data: Buffer.from('sealed words').toString('base64') };
  const { sessionId } = await talk.say({ message: 'keep it', attachments: [note] });

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
  const key = bootstrap.api_key;
  const messages = await last.client.call('GET', `/api/v1/sessions/${sessionId}/messages`, { key });
  const { id } = messages.json.data[0].attachments[0];
  t.is((await last.client.call('GET', `/api/v1/attachments/${id}`, { key })).text, 'sealed words');
  const store = await openStore({ databaseUrl });
  t.teardown(() => store.close());
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
