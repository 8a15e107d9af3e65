// `troupe backup` and `troupe restore`, as an operator runs them: beside a node, and into a new place.
import { copyFile, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { tenantScope } from '../../src/kernel/tenant-scope.js';
import { openStore } from '../../src/infra/storage/index.js';
import { createVault } from '../../src/tenancy/vault/index.js';
import { platformOf } from '../support/builders/platform.js';
import { readTurn } from '../support/clients/turn-reader.js';
import { eventually } from '../support/clocks/eventually.js';
import { createDatabase, createEmptyDatabase } from '../support/database/database.js';
import { startConversations } from '../support/servers/conversations.js';
import { startTestNode } from '../support/servers/node.js';
import { type Program, runProgram } from '../support/servers/program.js';

/** First starts make a database; two slow cores with a test suite on them take their time. */
const patience = { timeoutMs: 90_000, everyMs: 100 };
const masterKey = Buffer.alloc(32, 7);

async function parentFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-backup-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function run(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | string; readonly output: string }> {
  const program = runProgram('bin/troupe.mjs', words, environment);
  const code = await program.ended;
  return { code, output: program.output() };
}

async function query(databaseUrl: string, text: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

interface Single {
  readonly program: Program;
  readonly bootstrap: { readonly base_url: string; readonly api_key: string; readonly agent_id: string };
}

async function startSingle(t: ExecutionContext, folder: string): Promise<Single> {
  const program = runProgram('bin/start.mjs', [], { TROUPE_DATA_DIR: folder, TROUPE_HTTP_PORT: '0' });
  t.teardown(async () => {
    program.process.kill('SIGTERM');
    await program.ended;
  });
  await eventually(() => program.output().includes('Ctrl-C stops') || program.process.exitCode !== null, {
    ...patience,
    what: 'the start',
  });
  t.true(program.output().includes('Troupe is ready'), program.output());
  return { program, bootstrap: JSON.parse(await readFile(join(folder, 'bootstrap.json'), 'utf8')) };
}

function say({ bootstrap }: Single, message: string, sessionId?: string) {
  const { base_url: url, api_key: key, agent_id: agentId } = bootstrap;
  const body = { message, ...(sessionId !== undefined && { session_id: sessionId }) };
  return readTurn({ urls: () => [url], key, agentId, body });
}

async function contentsOf({ bootstrap }: Single, sessionId: string): Promise<readonly string[]> {
  const answer = await fetch(`${bootstrap.base_url}/api/v1/sessions/${sessionId}/messages`, {
    headers: { 'x-api-key': bootstrap.api_key },
  });
  const { data } = (await answer.json()) as { data: readonly { content: string }[] };
  return data.map(({ content }) => content);
}

test('npm start: a conversation continues in an installation that was restored into an empty folder', async (t) => {
  t.timeout(480_000);
  const parent = await parentFolder(t);
  const [first, second, backup] = ['first', 'second', 'backup'].map((name) => join(parent, name)) as [
    string,
    string,
    string,
  ];
  const before = await startSingle(t, first);
  const { sessionId } = await say(before, 'remember the blue door');
  const made = await run(['backup', '--to', backup], { TROUPE_DATA_DIR: first });
  t.is(made.code, 0, made.output);
  t.regex(made.output, /^sessions: 1 row,/m);
  await say(before, 'after the backup', sessionId);
  const busy = await run(['restore', '--from', backup], { TROUPE_DATA_DIR: first });
  t.is(busy.code, 1);
  t.regex(busy.output, /a node runs on the data folder/);
  before.program.process.kill('SIGTERM');
  t.is(await before.program.ended, 0);

  const key = { TROUPE_DATA_DIR: second, TROUPE_MASTER_KEY_FILE: join(first, 'master.key') };
  const restored = await run(['restore', '--from', backup], key);
  t.is(restored.code, 0, restored.output);
  t.is((await stat(join(second, 'master.key'))).mode & 0o777, 0o600);
  await copyFile(join(first, 'bootstrap.json'), join(second, 'bootstrap.json'));
  const after = await startSingle(t, second);
  await say(after, 'which door', sessionId);
  t.deepEqual(await contentsOf(after, sessionId), [
    'remember the blue door',
    'echo: remember the blue door',
    'which door',
    'echo: which door',
  ]);
});

test('DATABASE_URL: a backup beside a serving node restores conversations and secrets', async (t) => {
  t.timeout(300_000);
  const parent = await parentFolder(t);
  const backup = join(parent, 'backup');
  const node = await startTestNode(t);
  const { databaseUrl, dataDir, bootstrap } = node;
  const talk = await startConversations(node);
  const caller = { token: bootstrap.access_token, tenant: bootstrap.tenant_id };
  const body = { name: 'door', value: 'the value behind it', kind: 'generic' };
  t.is((await node.client.call('POST', '/api/secrets', { ...caller, body })).status, 201);
  const { sessionId } = await talk.say('one');
  const settings = { TROUPE_MASTER_KEY: masterKey.toString('base64'), TROUPE_DATA_DIR: dataDir };
  // As nodes with a Redis make it.
  await query(databaseUrl, `insert into cluster_identity (name, sealed_secret) values ('former', '\\x00')`);
  const making = run(['backup', '--to', backup], { ...settings, DATABASE_URL: databaseUrl });
  // Turns go on meanwhile.
  for (const word of ['two', 'three', 'four']) {
    await talk.say({ message: word, session_id: sessionId }, { agentId: talk.agentId });
  }
  const made = await making;
  t.is(made.code, 0, made.output);
  await node.stop();

  const target = await createEmptyDatabase(t);
  const into = { ...settings, DATABASE_URL: target.url };
  const restored = await run(['restore', '--from', backup], into);
  t.is(restored.code, 0, restored.output);
  const again = await run(['restore', '--from', backup], into);
  t.is(again.code, 1);
  t.regex(again.output, /is not empty/);

  const later = await startTestNode(t, { databaseUrl: target.url, dataDir });
  const { sessionId: same } = await (
    await startConversations(later)
  ).say({ message: 'last', session_id: sessionId }, { agentId: talk.agentId });
  t.is(same, sessionId);
  const { json } = await later.client.call('GET', `/api/v1/sessions/${sessionId}/messages`, {
    key: bootstrap.api_key,
  });
  const words = json.data.map(({ content }: { content: string }) => content) as string[];
  t.deepEqual([words[0], words[1], ...words.slice(-2)], ['one', 'echo: one', 'last', 'echo: last']);
  const store = await openStore({ databaseUrl: target.url });
  t.teardown(() => store.close());
  const vault = createVault(platformOf({ store }), { masterKey, providers: () => [] });
  const { value } = await vault.resolve(tenantScope(bootstrap.tenant_id), 'door');
  t.is(value.reveal(), 'the value behind it');
  const clusters = await query(target.url, 'select name from cluster_identity');
  t.deepEqual(clusters, [], 'restored nodes form a cluster of their own');
});

test('another master key is refused, at the backup and at the restore', async (t) => {
  t.timeout(300_000);
  const parent = await parentFolder(t);
  const backup = join(parent, 'backup');
  const node = await startTestNode(t);
  await node.stop();
  const { databaseUrl } = node;
  const empty = join(parent, 'empty');
  const other = { TROUPE_MASTER_KEY: Buffer.alloc(32, 8).toString('base64'), TROUPE_DATA_DIR: empty };
  const unusable = await run(['backup', '--to', backup], { ...other, DATABASE_URL: databaseUrl });
  t.is(unusable.code, 1);
  t.regex(
    unusable.output,
    /the database needs the master key with the fingerprint [0-9a-f]{32}, and the given/,
  );
  t.deepEqual(await readdir(parent), []);

  // A machine that makes backups need not have the key.
  const made = await run(['backup', '--to', backup], { DATABASE_URL: databaseUrl, TROUPE_DATA_DIR: empty });
  t.is(made.code, 0, made.output);
  const target = await createDatabase(t);
  for (const settings of [other, { TROUPE_DATA_DIR: empty }]) {
    const refused = await run(['restore', '--from', backup], { ...settings, DATABASE_URL: target.url });
    t.is(refused.code, 1);
    t.regex(refused.output, /the backup needs the master key with the fingerprint [0-9a-f]{32}, and/);
  }
  // Nothing is made for an installation that cannot be restored.
  const single = await run(['restore', '--from', backup], other);
  t.is(single.code, 1);
  t.deepEqual(await readdir(parent), ['backup']);
});

test('wrong arguments exit with 2 and the usage, --help with 0', async (t) => {
  t.timeout(300_000);
  const parent = await parentFolder(t);
  const settings = { TROUPE_DATA_DIR: join(parent, 'none') };
  for (const [words, pattern] of [
    [['backup'], /--to is missing\nUsage: troupe backup --to FOLDER/],
    [['backup', '--into', 'x'], /there is no option --into/],
    [['restore'], /--from is missing\nUsage: troupe restore --from FOLDER/],
    [['restore', '--from', 'x', 'y'], /y is not expected/],
  ] as const) {
    const { code, output } = await run(words, settings);
    t.is(code, 2, output);
    t.regex(output, pattern);
  }
  for (const name of ['backup', 'restore']) {
    const { code, output } = await run([name, '--help'], settings);
    t.is(code, 0, output);
    t.regex(output, new RegExp(`^Usage: troupe ${name} --`));
  }
  const nothing = await run(['backup', '--to', join(parent, 'backup')], settings);
  t.is(nothing.code, 1);
  t.regex(nothing.output, /there is no database in the data folder/);
});
