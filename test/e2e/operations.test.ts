import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import test from 'ava';
import { operatorToken, startTestNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { eventually } from '../support/clocks/eventually.js';

const shared = sharedNode(test);

test.serial('health answers without a credential and lowers no window', async (t) => {
  const { client } = await shared.tenant(t);
  const first = await client.call('GET', '/health/live');
  t.is(first.status, 200);
  const ready = await client.call('GET', '/health/ready');
  t.deepEqual(ready.json.checks, { database: 'ok', changes: 'ok', actors: 'ok' });
  t.is(ready.headers.get('x-ratelimit-limit'), '120');
  t.is(ready.headers.get('x-ratelimit-remaining'), '120');
});

test.serial('metrics are served in Prometheus form to the local machine and to the operator', async (t) => {
  // Of its own: it counts the requests of all, and has no proxy before it.
  const { client } = await startTestNode(t);
  await client.call('GET', '/health/live');
  const { status, text } = await client.call('GET', '/metrics');
  t.is(status, 200);
  t.regex(text, /troupe_http_request_duration_seconds_count\{operation="health.live",status="200"\} 1/);
  t.regex(text, /troupe_process_cpu_user_seconds_total/);
});

test.serial('metrics require the operator token from other machines', async (t) => {
  const { client } = await shared.tenant(t);
  const elsewhere = { headers: { 'x-forwarded-for': '203.0.113.5' } };
  t.is((await client.call('GET', '/metrics', elsewhere)).status, 401);
  t.is((await client.call('GET', '/metrics', { ...elsewhere, token: operatorToken })).status, 200);
  t.is(
    (await client.call('GET', '/metrics', { ...elsewhere, token: operatorToken.replace('t', 'x') })).status,
    401,
  );
});

test.serial('a request with forwarding headers never counts as local', async (t) => {
  const forwarded: Record<string, string>[] = [
    { 'x-forwarded-for': '203.0.113.5' },
    { 'x-forwarded-for': '127.0.0.1' },
    { 'x-forwarded-proto': 'https' },
    { forwarded: 'for=127.0.0.1' },
    { 'x-real-ip': '203.0.113.5' },
    { via: '1.1 proxy' },
    { 'cf-connecting-ip': '203.0.113.5' },
  ];
  for (const TROUPE_TRUSTED_PROXIES of ['', '127.0.0.0/8']) {
    // Of its own: a setting is tried.
    const { client } = await startTestNode(t, { environment: { TROUPE_TRUSTED_PROXIES } });
    t.is((await client.call('GET', '/metrics')).status, 200);
    for (const headers of forwarded) {
      const says = `${JSON.stringify(headers)} with proxies "${TROUPE_TRUSTED_PROXIES}"`;
      const { status, json } = await client.call('GET', '/metrics', { headers });
      t.is(status, 401, says);
      t.is(json.error, 'authentication_required', says);
      t.is((await client.call('GET', '/metrics', { headers, token: operatorToken })).status, 200, says);
      t.is((await client.call('GET', '/api/v1/cluster', { headers })).status, 401, says);
    }
  }
});

test.serial('a request to another host than this machine never counts as local', async (t) => {
  // Of its own: it has no proxy before it.
  const { client } = await startTestNode(t);
  const { port } = new URL(client.baseUrl);
  const statusAt = async (
    host: string,
    headers: Record<string, string> = {},
  ): Promise<number | undefined> => {
    // fetch does not let its caller set `Host`.
    const asked = request({ host: '127.0.0.1', port, path: '/metrics', headers: { host, ...headers } }).end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  };
  for (const host of [
    'localhost',
    'LOCALHOST:8080',
    `127.0.0.1:${port}`,
    '127.8.9.1',
    '[::1]',
    '[::1]:8080',
    '[::ffff:127.0.0.1]:80',
  ])
    t.is(await statusAt(host), 200, host);
  const authorization = `Bearer ${operatorToken}`;
  for (const host of [
    'evil.example:8080',
    'localhost.evil.example',
    'evil.localhost:8080',
    '127.0.0.1.evil.example',
    'localhost:8080@evil.example',
    '[::1].evil.example',
    '10.0.0.1',
    '[2001:db8::1]:8080',
    '::1',
    ':8080',
  ]) {
    t.is(await statusAt(host), 401, host);
    t.is(await statusAt(host, { authorization }), 200, host);
  }
});

test.serial('the log reports once that forwarding headers arrive although no proxy is trusted', async (t) => {
  // Of its own: no proxy is trusted.
  const { client, log } = await startTestNode(t);
  const warnings = (): number => log().split('TROUPE_TRUSTED_PROXIES').length - 1;
  await client.call('GET', '/health/live');
  t.is(warnings(), 0);
  for (let count = 0; count < 3; count += 1) {
    await client.call('GET', '/health/live', { headers: { 'x-forwarded-for': '203.0.113.5' } });
  }
  t.is(warnings(), 1);
  const trusting = await startTestNode(t, { environment: { TROUPE_TRUSTED_PROXIES: '127.0.0.0/8' } });
  await trusting.client.call('GET', '/health/live', { headers: { 'x-forwarded-for': '203.0.113.5' } });
  t.false(trusting.log().includes('TROUPE_TRUSTED_PROXIES'));
});

test.serial('the errors endpoints show codes and times, and no tenant data', async (t) => {
  // Of its own: the errors of all tenants are listed.
  const { client, bootstrap } = await startTestNode(t);
  const planted = 'planted-name-of-a-tenant';
  await client.call('GET', `/api/agents/${planted}`, { token: bootstrap.access_token });
  await client.call('POST', '/api/auth/login', {
    body: { email: `${planted}@example.com`, password: 'wrong password' },
  });
  const { json, text } = await client.call('GET', '/api/errors');
  t.is(json.count, json.data.length);
  const codes = json.data.map(({ error }: { error: string }) => error);
  t.deepEqual(codes, ['invalid_credentials', 'agent_not_found']);
  t.false(text.includes(planted));
  const metrics = await client.call('GET', '/api/errors/metrics');
  t.is(metrics.json.total_errors, 2);
  t.deepEqual(metrics.json.by_type, { agent_not_found: 1, invalid_credentials: 1 });
  t.true(metrics.json.error_rate > 0 && metrics.json.error_rate <= 1);
});

test.serial('the errors endpoints list at most the last 100 errors', async (t) => {
  // Of its own: its clock is set forward, and the errors of all are listed.
  const { client, passMs } = await startTestNode(t);
  for (let count = 0; count < 105; count += 1) await client.call('GET', '/nowhere');
  passMs(61_000);
  t.is((await client.call('GET', '/api/errors')).json.count, 100);
});

test.serial('an anonymous address is limited to 120 requests a minute, also for unknown paths', async (t) => {
  // Of its own: its clock is set forward.
  const { client, passMs } = await startTestNode(t);
  for (let count = 1; count <= 120; count += 1) {
    const { headers, status } = await client.call('GET', count % 2 === 0 ? '/api/errors' : '/nowhere');
    t.not(status, 429);
    t.is(headers.get('x-ratelimit-remaining'), String(120 - count));
  }
  const refused = await client.call('GET', '/api/errors');
  t.is(refused.status, 429);
  t.is(refused.json.error, 'rate_limit_exceeded');
  t.is(refused.json.details.limit, 120);
  t.is(refused.json.details.remaining, 0);
  const wait = Number(refused.headers.get('retry-after'));
  t.true(wait >= 1 && wait <= 61);
  t.is(refused.json.details.retry_after, wait);
  t.is((await client.call('GET', '/health/live')).status, 200);
  passMs(wait * 1000);
  t.is((await client.call('GET', '/api/errors')).status, 200);
});

test.serial(
  "a wrong or missing credential gets 401 with the address's figures and does not lower them",
  async (t) => {
    const { client } = await shared.tenant(t);
    for (const credential of [{}, { key: 'svc_live_wrong' }, { token: 'not.a.token' }]) {
      const { status, headers } = await client.call('GET', '/api/quota', credential);
      t.is(status, 401);
      t.is(headers.get('x-ratelimit-limit'), '120');
      t.is(headers.get('x-ratelimit-remaining'), '120');
    }
  },
);

test.serial('an API key is accepted as a bearer token', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  t.is((await client.call('GET', '/api/quota', { token: bootstrap.api_key })).status, 200);
  const both = await client.call('GET', '/api/auth/me', {
    key: bootstrap.api_key,
    token: bootstrap.access_token,
  });
  t.is(both.status, 401, 'where both are sent the key wins, and this endpoint takes none');
});

test.serial('the log contains no secret', async (t) => {
  const { client, bootstrap, log } = await shared.tenant(t);
  await client.call('GET', '/api/quota', { key: bootstrap.api_key });
  await client.call('POST', '/api/auth/login', { body: bootstrap.owner });
  await client.call('POST', '/api/secrets', {
    token: bootstrap.access_token,
    body: { name: 'planted', kind: 'generic', value: 'planted-secret-value' },
  });
  await eventually(() => log().includes('"operation":"secrets.create"'));
  for (const secret of [
    bootstrap.api_key,
    bootstrap.access_token,
    bootstrap.owner.password,
    'planted-secret-value',
  ]) {
    t.false(log().includes(secret));
  }
});
