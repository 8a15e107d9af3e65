import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { startMailServer } from '../support/servers/mail-server.js';
import { oidcAudience, startOidcIssuer } from '../support/servers/oidc-issuer.js';
import { startVendor } from '../support/clients/direct-calls.js';
import { createDatabase } from '../support/database/database.js';
import { startTestNode } from '../support/servers/node.js';
import { AnthropicServer } from '../support/servers/vendors/anthropic-server.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';
import { PrivateRedis } from '../support/servers/redis.js';
import { runProgram } from '../support/servers/program.js';

async function doctor(
  t: ExecutionContext,
  environment: Readonly<Record<string, string>>,
  words: readonly string[] = [],
) {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-doctor-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const program = runProgram('bin/troupe.mjs', ['doctor', ...words], {
    TROUPE_DATA_DIR: folder,
    ...environment,
  });
  return { code: await program.ended, says: program.output() };
}

test('the doctor reports unreachable outside services and names their settings', async (t) => {
  const { code, says } = await doctor(t, {
    TROUPE_SMTP_URL: 'smtp://somebody:hunter2@127.0.0.1:1',
    TROUPE_OIDC_ISSUER: 'http://127.0.0.1:1',
    TROUPE_OIDC_AUDIENCE: oidcAudience,
    TROUPE_MODELS_FILE: '/nowhere/models.json',
  });
  t.is(code, 1);
  t.regex(says, /WRONG +mail: .*ECONNREFUSED.*TROUPE_SMTP_URL/);
  t.regex(says, /WRONG +outside issuer: .*TROUPE_OIDC_ISSUER/);
  t.regex(says, /WRONG +models: the file in TROUPE_MODELS_FILE .*cannot be read/);
  t.false(says.includes('hunter2'));
});

test('the doctor accepts reachable outside services', async (t) => {
  const [mail, issuer] = [await startMailServer(), await startOidcIssuer()];
  t.teardown(() => Promise.all([mail.close(), issuer.close()]));
  const { code, says } = await doctor(t, {
    TROUPE_SMTP_URL: mail.url,
    TROUPE_OIDC_ISSUER: issuer.issuer,
    TROUPE_OIDC_AUDIENCE: oidcAudience,
    OPENAI_API_KEY: 'sk-planted-secret-0001',
  });
  t.is(code, 0, says);
  t.regex(says, /ok +mail: /);
  t.regex(says, /ok +outside issuer: /);
  t.regex(says, /ok +models: keys for openai/);
  t.false(says.includes('sk-planted'));
});

test('the doctor requires that a Redis with replicas refuses writes that no replica receives', async (t) => {
  const master = await PrivateRedis.start();
  t.teardown(() => master.stop());
  const replica = await PrivateRedis.start({ replicaOf: master });
  t.teardown(() => replica.stop());
  const isFollowed = async (): Promise<boolean> =>
    (await master.command((redis) => redis.info('replication'))).includes('connected_slaves:1');
  await eventually(isFollowed, { timeoutMs: 20_000, what: 'the replica follows' });
  const before = await doctor(t, { REDIS_URL: master.url });
  t.is(before.code, 1);
  t.regex(before.says, /WRONG +Redis: min-replicas-to-write is 0/);
  await master.command((redis) => redis.config('SET', 'min-replicas-to-write', '1'));
  t.regex((await doctor(t, { REDIS_URL: master.url })).says, /ok +Redis: /);
});

test('the doctor asks each vendor whether its keys work, and prints none', async (t) => {
  const [openai, anthropic] = [
    await startVendor(t, new OpenAiServer()),
    await startVendor(t, new AnthropicServer()),
  ];
  openai.keys.add('sk-planted-good-0001');
  anthropic.keys.add('sk-ant-planted-other');
  const { code, says } = await doctor(
    t,
    {
      OPENAI_API_KEYS: 'sk-planted-good-0001,sk-planted-bad-00002',
      OPENAI_BASE_URL: openai.baseUrl,
      ANTHROPIC_API_KEY: 'sk-ant-planted-refused',
      ANTHROPIC_BASE_URL: anthropic.baseUrl,
      XAI_API_KEY: 'xai-planted-unreachable',
      XAI_BASE_URL: 'http://127.0.0.1:1',
    },
    ['--vendors'],
  );
  t.is(code, 1);
  t.regex(says, /ok +vendor openai: OPENAI_API_KEYS, key 1 works/);
  t.regex(says, /WRONG +vendor openai: OPENAI_API_KEYS, key 2 is refused by 127\.0\.0\.1:\d+ with 401/);
  t.regex(says, /WRONG +vendor anthropic: ANTHROPIC_API_KEY is refused/);
  t.regex(says, /WRONG +vendor xai: 127\.0\.0\.1:1 cannot be reached/);
  t.false(says.includes('planted'), says);
});

test('the doctor tells the fingerprint of the master key, and whether the vault needs another', async (t) => {
  const { url } = await createDatabase(t);
  const node = await startTestNode(t, { databaseUrl: url });
  await node.stop();
  const key = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
  const own = await doctor(t, { DATABASE_URL: url, TROUPE_MASTER_KEY: key(7) });
  t.regex(
    own.says,
    /ok +master key: its fingerprint is [0-9a-f]{32}, and the vault of this database fits it/,
  );
  const fingerprint = /fingerprint is ([0-9a-f]{32})/.exec(own.says)?.[1] ?? '';
  const other = await doctor(t, { DATABASE_URL: url, TROUPE_MASTER_KEY: key(8) });
  t.is(other.code, 1);
  t.regex(other.says, new RegExp(`WRONG +master key: .*needs the key with the fingerprint ${fingerprint}`));
  t.false(own.says.includes(key(7)));
});

test('the doctor refuses an option that it does not know', async (t) => {
  const { code, says } = await doctor(t, {}, ['--vendor']);
  t.is(code, 2);
  t.regex(says, /there is no option --vendor\. Did you mean "--vendors"\?/);
});
