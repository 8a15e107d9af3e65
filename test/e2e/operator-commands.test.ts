// The commands of the operator beside running nodes: tenants, users, usage, data keys.
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import pg from 'pg';
import { ask } from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { startTestNode } from '../support/servers/node.js';
import { runProgram } from '../support/servers/program.js';

test('the commands do what the endpoints do, in force on running nodes', async (t) => {
  t.timeout(300_000);
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
  const listed = async (...words: string[]): Promise<readonly (string | undefined)[]> =>
    (await troupe('tenants', 'list', ...words))
      .split('\n')
      .slice(1)
      .map((line) => line.split(' ')[0]);
  t.deepEqual(await listed('--search', 'by comm', '--plan', 'pro'), [made]);
  t.deepEqual(await listed('--search', 'by comm', '--plan', 'free'), []);
  t.deepEqual(await listed('--search', 'by comm', '--status', 'suspended'), []);
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
  const asked = await ask(node, { model: 'sim.echo', query: 'hello' });
  t.is(asked.status, 200, asked.text);
  t.regex(await troupe('usage', '--group-by', 'model'), /calls[^]*^sim\.echo /m);
  t.regex(await troupe('vault', 'rotate', '--tenant', id), /new data key/);
  t.regex(await troupe('tenants', 'delete', made, '--confirm', 'By command'), /is being deleted/);
  t.is(JSON.parse(await troupe('tenants', 'show', made)).status, 'deleting');
});

test('commands that only read apply no migration, and say what to do', async (t) => {
  t.timeout(300_000);
  // Of its own: its schema is changed.
  const node = await startTestNode(t);
  const run = async (...words: string[]): Promise<readonly [code: number | string, output: string]> => {
    const program = runProgram('bin/troupe.mjs', words, {
      DATABASE_URL: node.databaseUrl,
      TROUPE_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      TROUPE_DATA_DIR: node.dataDir,
    });
    return [await program.ended, program.output()];
  };
  // A database of a version that had not this text of the function.
  const database = new pg.Client({ connectionString: node.databaseUrl });
  t.teardown(() => database.end());
  await database.connect();
  const { rows } = await database.query<{ name: string }>(
    'delete from schema_functions where name = (select max(name) from schema_functions) returning name',
  );
  const name = rows[0]?.name ?? '';
  const tenant = node.bootstrap.tenant_id;
  for (const words of [
    ['tenants', 'list'],
    ['tenants', 'show', tenant],
    ['users', 'list'],
    ['usage'],
    ['keys', 'list', '--tenant', tenant],
  ]) {
    const [code, output] = await run(...words);
    t.is(code, 1, output);
    t.regex(output, /are pending \(1\), .* run troupe migrate/, words.join(' '));
  }
  t.deepEqual(await run('migrate'), [0, `applied ${name}\n`]);
  t.is((await run('tenants', 'list'))[0], 0);
});

test('a key made by the command has the limits that were named', async (t) => {
  t.timeout(300_000);
  // Of its own: commands see the whole installation.
  const node = await startTestNode(t);
  const { tenant_id: tenant, access_token: token } = node.bootstrap;
  const settings = {
    DATABASE_URL: node.databaseUrl,
    TROUPE_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    TROUPE_DATA_DIR: node.dataDir,
  };
  const create = ['keys', 'create', '--tenant', tenant];
  const limits = {
    name: 'bounded',
    role: 'editor',
    'rate-limit': '30',
    'expires-in-days': '2',
    'budget-usd': '0.5',
    'budget-period': 'day',
    'allowed-models': 'sim.*,openai.gpt-4.1-mini',
    'allowed-ips': '127.0.0.0/8, 10.0.0.0/8',
  };
  const words = Object.entries(limits).flatMap(([name, value]) => [`--${name}`, value]);
  const made = runProgram('bin/troupe.mjs', [...create, ...words], settings);
  t.is(await made.ended, 0, made.output());
  const id = /the editor key ([0-9a-f-]{36})/.exec(made.output())?.[1] ?? '';
  const { json } = await node.client.call('GET', `/api/keys/${id}`, { token, tenant });
  t.like(json.data, {
    name: 'bounded',
    role: 'editor',
    rate_limit_per_minute: 30,
    budget: { usd: 0.5, period: 'day' },
    allowed_models: ['sim.*', 'openai.gpt-4.1-mini'],
    allowed_ips: ['127.0.0.0/8', '10.0.0.0/8'],
  });
  const days = (Date.parse(json.data.expires_at) - Date.now()) / 86_400_000;
  t.true(days > 1.9 && days <= 2, json.data.expires_at);
  for (const [wrong, says] of [
    [['--budget-usd', '1'], /--budget-usd and --budget-period belong together/],
    [['--budget-usd', '1', '--budget-period', 'mouth'], /there is no period mouth\. Did you mean "month"\?/],
    [['--allowed-ips', 'everywhere'], /must be a CIDR/],
    [['--rpm', '3', '--rate-limit', '4'], /mean the same/],
  ] as const) {
    const refused = runProgram('bin/troupe.mjs', [...create, ...wrong], settings);
    t.is(await refused.ended, 2, refused.output());
    t.regex(refused.output(), says);
  }
});

test('a database whose address is in a file is no database of the data folder: its key is asked for, and not made', async (t) => {
  t.timeout(300_000);
  // Of its own: commands see the whole installation.
  const node = await startTestNode(t);
  const folder = await mkdtemp(join(tmpdir(), 'troupe-operator-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'database-url');
  await writeFile(file, node.databaseUrl);
  const invite = ['users', 'invite', 'fourth@example.com', '--tenant', node.bootstrap.tenant_id];
  const refused = runProgram('bin/troupe.mjs', invite, {
    DATABASE_URL_FILE: file,
    TROUPE_DATA_DIR: folder,
    TROUPE_PUBLIC_URL: 'https://troupe.example.com',
  });
  t.is(await refused.ended, 1, refused.output());
  t.regex(refused.output(), /TROUPE_MASTER_KEY is missing/);
  t.deepEqual(await readdir(folder), ['database-url']);
});
