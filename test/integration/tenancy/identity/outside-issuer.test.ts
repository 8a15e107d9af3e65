import { randomUUID } from 'node:crypto';
import test from 'ava';
import { SignJWT } from 'jose';
import { systemTime } from '../../../../cluster/index.js';
import { PlatformError } from '../../../../src/kernel/errors.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { readSettings } from '../../../../src/kernel/config/index.js';
import { createOutsideIssuer, discoverEndpoints } from '../../../../src/tenancy/identity/outside-issuer.js';
import { outsideIssuerOf } from '../../../../src/app/node/outside-services.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { type IdentityNode, shiftedTime, startIdentityNode } from '../../../support/servers/identity.js';
import { type OidcIssuer, oidcAudience, startOidcIssuer } from '../../../support/servers/oidc-issuer.js';
import { registerPerson } from '../../../support/builders/people.js';

const database = databaseOfFile(test);
const time = shiftedTime();
let issuer: OidcIssuer;
let node: IdentityNode;

test.before(async () => {
  issuer = await startOidcIssuer();
  node = await startIdentityNode(database.url, {
    time,
    outsideIssuer: { issuer: issuer.issuer, audience: oidcAudience },
  });
  database.atEnd(async () => {
    await node.close();
    await issuer.close();
  });
});

const problems: unknown[] = [];
const parts = { time, onProblem: (error: unknown) => void problems.push(error) };

const me = (token: string) => node.api.get('/api/auth/me', { token });

test.serial('a token of the outside issuer identifies the user of its verified address', async (t) => {
  const person = await registerPerson(node.api);
  const token = await issuer.token({ email: person.email.toUpperCase(), email_verified: true });
  const answer = await me(token);
  t.is(answer.status, 200);
  t.is(answer.at('data.user.id'), person.id);
  const tenant = await node.api.get(`/api/tenants/${person.tenantId}`, { token });
  t.is(tenant.at('data.role'), 'owner');
  const again = await node.api.post('/api/auth/login', { email: person.email, password: person.password });
  t.is(again.at('error'), 'invalid_credentials', 'nobody had proved the address, see account-taking.test.ts');
});

test.serial(
  'a token for another audience, expired, unverified, without an account or of another issuer is refused',
  async (t) => {
    const { email } = await registerPerson(node.api);
    const claims = { email, email_verified: true };
    const secret = new TextEncoder().encode('a secret that both sides would have to know');
    const symmetric = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer(issuer.issuer)
      .setAudience(oidcAudience)
      .setExpirationTime('10m')
      .sign(secret);
    const bad = [
      await issuer.token(claims, { audience: 'somebody-else' }),
      await issuer.token(claims, { expiresInSeconds: -60 }),
      await issuer.token({ email, email_verified: false }),
      await issuer.token({ email }),
      await issuer.token({ email_verified: true }),
      await issuer.token({ email: `${randomUUID()}@example.com`, email_verified: true }),
      await issuer.token(claims, { issuer: 'https://elsewhere.example' }),
      await issuer.token(claims, { issuer: 'troupe' }),
      symmetric,
    ];
    for (const token of bad) {
      const answer = await me(token);
      t.is(answer.status, 401);
      t.is(answer.at('error'), 'invalid_token');
    }
  },
);

test.serial('a disabled user is refused with any outside token, also a cached one', async (t) => {
  const person = await registerPerson(node.api);
  const token = await issuer.token({ email: person.email, email_verified: true });
  t.is((await me(token)).status, 200);
  await node.identity.accounts.disable(person.id, 'operator');
  t.is((await me(token)).status, 401);
});

test.serial('keys are fetched once, not per token', async (t) => {
  const { email } = await registerPerson(node.api);
  const before = issuer.keyFetches;
  for (let number = 0; number < 5; number += 1) {
    t.is((await me(await issuer.token({ email, email_verified: true, number }))).status, 200);
  }
  t.is(issuer.keyFetches, before);
});

test.serial('an unreachable or wrong issuer gives 503 and is asked again later', async (t) => {
  const fresh = await startOidcIssuer();
  const other = await startIdentityNode(database.url, {
    time,
    outsideIssuer: { issuer: fresh.issuer, audience: oidcAudience },
  });
  t.teardown(async () => {
    await other.close();
    await fresh.close();
  });
  const { email } = await registerPerson(node.api);
  const { token: ownToken } = await registerPerson(node.api);
  const token = await fresh.token({ email, email_verified: true });
  fresh.broken = true;
  const refused = await other.api.get('/api/auth/me', { token });
  t.is(refused.status, 503);
  t.is(refused.at('error'), 'service_unavailable');
  t.truthy(refused.headers.get('retry-after'));
  t.is((await other.api.get('/api/auth/me', { token: ownToken })).status, 200);
  fresh.broken = false;
  fresh.claimedIssuer = 'https://elsewhere.example';
  time.passedMs += 6_000;
  t.is((await other.api.get('/api/auth/me', { token })).status, 503);
  fresh.claimedIssuer = undefined;
  time.passedMs += 6_000;
  t.is((await other.api.get('/api/auth/me', { token })).status, 200);
});

test.serial('an issuer that moved its keys is discovered again when the old address fails', async (t) => {
  const moving = await startOidcIssuer();
  t.teardown(() => moving.close());
  const outside = createOutsideIssuer({ issuer: moving.issuer, audience: oidcAudience }, parts);
  const token = await moving.token({ email: 'ada@example.com', email_verified: true });
  moving.place = '/new';
  moving.namedPlace = '/old';
  const refused = { code: 'service_unavailable' };
  t.like(await t.throwsAsync(outside.verify(token), { instanceOf: PlatformError }), refused);
  moving.namedPlace = undefined;
  t.like(
    await t.throwsAsync(outside.verify(token), { instanceOf: PlatformError }),
    refused,
    'but not with each request',
  );
  time.passedMs += 6_000;
  t.is((await outside.verify(token)).email, 'ada@example.com');
});

test.serial('what was discovered is discovered again after an hour, and serves until then', async (t) => {
  const moving = await startOidcIssuer();
  t.teardown(() => moving.close());
  const endpoints = discoverEndpoints(moving.issuer, parts);
  const address = async (): Promise<string> => (await endpoints.get()).token_endpoint;
  const [old, moved] = [`${moving.issuer}/token`, `${moving.issuer}/new/token`];
  t.is(await address(), old);
  moving.place = '/new';
  time.passedMs += 3_500_000;
  t.is(await address(), old);
  moving.broken = true;
  time.passedMs += 100_000;
  t.is(await address(), old);
  await t.throwsAsync(endpoints.renew(), { instanceOf: PlatformError });
  t.is(await address(), old, 'an issuer that does not answer takes nothing away');
  moving.broken = false;
  time.passedMs += 6_000;
  await eventually(async () => (await address()) === moved);
});

test.serial('the log tells of an issuer that cannot be discovered again, once a minute', async (t) => {
  const away = await startOidcIssuer();
  t.teardown(() => away.close());
  const endpoints = discoverEndpoints(away.issuer, parts);
  away.broken = true;
  await t.throwsAsync(endpoints.get(), { instanceOf: PlatformError });
  problems.length = 0;
  away.broken = false;
  time.passedMs += 6_000;
  await endpoints.get();
  t.deepEqual(problems, [], 'who asked first was told itself');
  away.broken = true;
  time.passedMs += 3_600_000;
  await endpoints.get();
  await eventually(() => problems.length > 0);
  const [told] = problems;
  t.true(told instanceof Error && told.message.startsWith(away.issuer) && told.cause instanceof Error);
  for (const passedMs of [50_000, 11_000]) {
    time.passedMs += passedMs;
    await t.throwsAsync(endpoints.renew(), { instanceOf: PlatformError });
  }
  t.is(problems.length, 2);
});

test.serial('a wall clock that is set back delays no discovery', async (t) => {
  const moving = await startOidcIssuer();
  t.teardown(() => moving.close());
  const endpoints = discoverEndpoints(moving.issuer, parts);
  t.teardown(() => void (time.aheadMs = 0));
  moving.broken = true;
  await t.throwsAsync(endpoints.get(), { instanceOf: PlatformError });
  moving.broken = false;
  time.aheadMs -= 86_400_000;
  time.passedMs += 6_000;
  t.is((await endpoints.get()).token_endpoint, `${moving.issuer}/token`);
  moving.place = '/new';
  time.aheadMs -= 86_400_000;
  time.passedMs += 3_700_000;
  await eventually(async () => (await endpoints.get()).token_endpoint === `${moving.issuer}/new/token`);
});

test('an issuer without an audience, or an audience without an issuer, stops the start', (t) => {
  const issuerAlone = { TROUPE_OIDC_ISSUER: 'https://login.example.com' };
  const audienceAlone = { TROUPE_OIDC_AUDIENCE: 'troupe' };
  for (const environment of [issuerAlone, audienceAlone]) {
    t.throws(() => outsideIssuerOf(readSettings(environment)), { message: /set together/ });
  }
  t.deepEqual(outsideIssuerOf(readSettings({ ...issuerAlone, ...audienceAlone })), {
    issuer: 'https://login.example.com',
    audience: 'troupe',
  });
  t.is(outsideIssuerOf(readSettings({})), undefined);
});

test("an issuer's name keeps its final slash, and its address still works", async (t) => {
  const slashed = await startOidcIssuer();
  t.teardown(() => slashed.close());
  const issuer = `${slashed.issuer}/`;
  slashed.claimedIssuer = issuer;
  const settings = readSettings({ TROUPE_OIDC_ISSUER: issuer, TROUPE_OIDC_AUDIENCE: oidcAudience });
  const outside = createOutsideIssuer(outsideIssuerOf(settings) ?? t.fail(), {
    ...parts,
    time: systemTime,
  });
  t.is(outside.issuer, issuer);
  const email = 'ada@example.com';
  const token = await slashed.token({ email, email_verified: true }, { issuer });
  t.is((await outside.verify(token)).email, email);
});
