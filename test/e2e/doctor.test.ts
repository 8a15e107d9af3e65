import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { startMailServer } from '../support/servers/mail-server.js';
import { oidcAudience, startOidcIssuer } from '../support/servers/oidc-issuer.js';
import { PrivateRedis } from '../support/servers/redis.js';
import { runProgram } from '../support/servers/program.js';

async function doctor(t: ExecutionContext, environment: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-doctor-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const program = runProgram('bin/troupe.mjs', ['doctor'], { TROUPE_DATA_DIR: folder, ...environment });
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
