// The commands of the operator beside running nodes: tenants, users, usage, data keys.
import { readdir } from 'node:fs/promises';
import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { startTestNode } from '../support/servers/node.js';
import { runProgram } from '../support/servers/program.js';

test('the commands do what the endpoints do, in force on running nodes', async (t) => {
  // Of its own: commands see the whole installation.
  const node = await startTestNode(t);
  const { api_key: key, tenant_id: id, owner } = node.bootstrap;
  const troupe = async (...words: string[]): Promise<string> => {
    const program = runProgram('bin/troupe.mjs', words, {
      DATABASE_URL: node.databaseUrl,
      TROUPE_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      TROUPE_DATA_DIR: node.dataDir,
      TROUPE_PUBLIC_URL: 'https://troupe.example.com',
    });
    t.is(await program.ended, 0, program.output());
    return program.output().trim();
  };
  t.regex(await troupe('tenants', 'list'), new RegExp(`${id} .*enterprise .*active`));
  await troupe('tenants', 'suspend', id, '--reason', 'unpaid');
  const headers = { 'x-api-key': key };
  await eventually(async () => (await node.client.call('GET', '/api/quota', { headers })).status === 403);
  t.like(JSON.parse(await troupe('tenants', 'show', id)), { status: 'suspended', suspend_reason: 'unpaid' });
  await troupe('tenants', 'resume', id);
  await eventually(async () => (await node.client.call('GET', '/api/quota', { headers })).status === 200);

  const made = await troupe('tenants', 'create', 'By command', '--plan', 'pro', '--owner', owner.email);
  t.like(JSON.parse(await troupe('tenants', 'show', made)), { plan: 'pro', members: 1 });
  const email = 'second@example.com';
  const password = (await troupe('users', 'create', email)).split('\n').at(-1);
  const signIn = await node.client.call('POST', '/api/auth/login', { body: { email, password } });
  t.is(signIn.status, 200);
  const user = signIn.json.data.user.id as string;
  await troupe('users', 'disable', user);
  const token = signIn.json.data.access_token as string;
  await eventually(async () => {
    const me = await node.client.call('GET', '/api/auth/me', { token });
    return me.json.error === 'authentication_required';
  });
  t.regex(await troupe('users', 'list', '--search', 'second@'), new RegExp(`${user} .*disabled`));
  await troupe('users', 'enable', user);
  t.regex(
    await troupe('users', 'invite', 'third@example.com', '--tenant', made, '--role', 'owner'),
    /as owner/,
  );
  await eventually(async () => (await readdir(`${node.dataDir}/outbox`)).length > 0);
  t.regex(await troupe('usage', '--group-by', 'model'), /calls/);
  t.regex(await troupe('vault', 'rotate', '--tenant', id), /new data key/);
  t.regex(await troupe('tenants', 'delete', made, '--confirm', 'By command'), /is being deleted/);
  t.is(JSON.parse(await troupe('tenants', 'show', made)).status, 'deleting');
});
