// Which address a command speaks to, and which credentials it sends there.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { findProfile, writeProfiles } from '../../../src/app/command/developer/profiles.js';

const production = 'https://troupe.example.com';
const staging = 'https://staging.example.com';
const other = 'https://other.example.com';
const local = 'http://127.0.0.1:8090';

/** A machine with two profiles, of which production is the default one; `bare`: with what `npm start` left alone. */
async function machine(t: ExecutionContext, { bare = false } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-profiles-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const environment = { XDG_CONFIG_HOME: folder, TROUPE_DATA_DIR: join(folder, 'data') };
  await mkdir(environment.TROUPE_DATA_DIR);
  const bootstrap = JSON.stringify({ base_url: local, api_key: 'local-key' });
  await writeFile(join(environment.TROUPE_DATA_DIR, 'bootstrap.json'), bootstrap);
  if (!bare) {
    await writeProfiles(environment, {
      default: 'production',
      profiles: {
        production: { url: production, api_key: 'production-key', operator_token: 'production-token' },
        staging: { url: staging, api_key: 'staging-key' },
      },
    });
  }
  return (more: Readonly<Record<string, string>>, named?: string) =>
    findProfile({ ...environment, ...more }, named);
}

test('a profile gives its address and its credentials', async (t) => {
  const find = await machine(t);
  t.deepEqual(await find({}), {
    url: production,
    api_key: 'production-key',
    operator_token: 'production-token',
    withheld: {},
  });
  t.deepEqual(await find({}, 'staging'), { url: staging, api_key: 'staging-key', withheld: {} });
  t.deepEqual(await find({ TROUPE_PROFILE: 'staging' }), {
    url: staging,
    api_key: 'staging-key',
    withheld: {},
  });
  await t.throwsAsync(find({}, 'none'), { message: /There is no profile none/ });
});

test('kept credentials are not sent to another address, and the reason says what to do', async (t) => {
  const find = await machine(t);
  const { withheld, ...found } = await find({ TROUPE_BASE_URL: other });
  t.deepEqual(found, { url: other });
  t.regex(withheld.api_key ?? '', /key of the profile production belongs to https:\/\/troupe\.example\.com/);
  t.regex(withheld.api_key ?? '', /not sent to https:\/\/other\.example\.com, which TROUPE_BASE_URL names/);
  t.regex(withheld.api_key ?? '', /Set TROUPE_API_KEY/);
  t.regex(withheld.operator_token ?? '', /Set TROUPE_OPERATOR_TOKEN/);
  const bare = await machine(t, { bare: true });
  const started = await bare({ TROUPE_BASE_URL: other });
  t.is(started.api_key, undefined);
  t.regex(started.withheld.api_key ?? '', /key of .*bootstrap\.json belongs to http:\/\/127\.0\.0\.1:8090/);
  t.like(await bare({}), { url: local, api_key: 'local-key' });
});

test('the same origin may be written in another way', async (t) => {
  const find = await machine(t);
  for (const url of [`${production}/`, `${production}:443`, 'https://TROUPE.example.com'])
    t.like(await find({ TROUPE_BASE_URL: url }), { url, api_key: 'production-key', withheld: {} });
  for (const url of ['http://troupe.example.com', `${production}:8443`, `${production}.evil.example`])
    t.is((await find({ TROUPE_BASE_URL: url })).api_key, undefined, url);
});

test('variables that name an address and a credential are one installation', async (t) => {
  const find = await machine(t);
  const { api_key, operator_token, withheld } = await find({
    TROUPE_BASE_URL: other,
    TROUPE_API_KEY: 'other-key',
  });
  t.is(api_key, 'other-key');
  t.is(operator_token, undefined);
  t.regex(withheld.operator_token ?? '', /The operator token of the profile production/);
  t.deepEqual(await find({ TROUPE_BASE_URL: other, TROUPE_API_KEY: 'a', TROUPE_OPERATOR_TOKEN: 'b' }), {
    url: other,
    api_key: 'a',
    operator_token: 'b',
    withheld: {},
  });
});

test('a variable without an address goes where the command goes, unless a profile was named', async (t) => {
  const find = await machine(t);
  const variables = { TROUPE_API_KEY: 'another-key', TROUPE_OPERATOR_TOKEN: 'another-token' };
  t.deepEqual(await find(variables), {
    url: production,
    api_key: 'another-key',
    operator_token: 'another-token',
    withheld: {},
  });
  const { withheld, ...found } = await find(variables, 'staging');
  t.deepEqual(found, { url: staging, api_key: 'staging-key' });
  t.deepEqual(Object.keys(withheld), ['operator_token']);
  t.regex(withheld.operator_token ?? '', /The profile staging has no operator token/);
  t.regex(withheld.operator_token ?? '', /troupe login --operator --url https:\/\/staging\.example\.com/);
});

test('a named profile takes variables that TROUPE_BASE_URL gives to its address', async (t) => {
  const find = await machine(t);
  const variables = { TROUPE_API_KEY: 'another-key', TROUPE_OPERATOR_TOKEN: 'staging-token' };
  t.deepEqual(await find({ ...variables, TROUPE_BASE_URL: staging }, 'staging'), {
    url: staging,
    api_key: 'staging-key',
    operator_token: 'staging-token',
    withheld: {},
  });
  const { withheld, ...found } = await find({ ...variables, TROUPE_BASE_URL: other }, 'staging');
  t.deepEqual(found, { url: staging, api_key: 'staging-key' });
  t.deepEqual(Object.keys(withheld), ['operator_token']);
});
