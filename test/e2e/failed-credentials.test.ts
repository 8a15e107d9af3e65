// A whole node against a client that guesses keys and webhook addresses.
import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { createTrigger, sendSigned } from '../support/builders/triggers.js';
import { setPlan } from '../support/clients/direct-calls.js';
import { operatorToken, startTestNode } from '../support/servers/node.js';

const perMinute = 600;

/** So many at a time, as one client with a few connections would. */
async function statusesOf(count: number, ask: () => Promise<{ status: number }>): Promise<number[]> {
  const statuses: number[] = [];
  for (let begun = 0; begun < count; begun += 50) {
    const answers = await Promise.all(Array.from({ length: Math.min(50, count - begun) }, ask));
    statuses.push(...answers.map(({ status }) => status));
  }
  return statuses;
}

const count = (statuses: readonly number[], wanted: number): number =>
  statuses.filter((status) => status === wanted).length;

// A node for each test: they set its clock forward, or count what strangers send from one address.
test.serial('invented keys get 401, then 429 by address, and never block a right key', async (t) => {
  const { client, bootstrap, passMs } = await startTestNode(t);
  const guess = () =>
    client.call('GET', '/api/quota', { key: `svc_live_${randomBytes(20).toString('hex')}` });
  const first = await guess();
  t.is(first.json.error, 'invalid_api_key');
  t.is(first.headers.get('x-ratelimit-limit'), '120', 'a 401 carries the figures of the address');
  t.is(first.headers.get('x-ratelimit-remaining'), '120', 'and does not lower them');
  const statuses = await statusesOf(perMinute + 99, guess);
  t.is(count(statuses, 401), perMinute - 1);
  t.is(count(statuses, 429), 100);
  const refused = await guess();
  t.is(refused.json.error, 'rate_limit_exceeded');
  t.like(refused.json.details, { limit: perMinute, remaining: 0 });
  t.is(refused.headers.get('x-ratelimit-limit'), String(perMinute));
  t.true(Number(refused.headers.get('retry-after')) > 0);

  t.is((await client.call('GET', '/api/quota', { key: bootstrap.api_key })).status, 200);
  const made = await client.call('POST', '/api/keys', {
    token: bootstrap.access_token,
    tenant: bootstrap.tenant_id,
    body: { name: 'made meanwhile', role: 'editor' },
  });
  t.is(made.status, 201, made.text);
  const key = /svc_\w+/.exec(made.text)?.[0] ?? '';
  t.is((await client.call('GET', '/api/quota', { key })).status, 200);
  t.is((await client.call('GET', '/health/live')).status, 200);
  passMs(60_000);
  t.is((await guess()).status, 401);
});

test.serial('unknown webhooks get 404, then 429 by address', async (t) => {
  const { client } = await startTestNode(t);
  const guess = () => client.call('POST', `/api/triggers/webhook/${randomUUID()}`, { body: {} });
  const statuses = await statusesOf(perMinute + 50, guess);
  t.is(count(statuses, 404), perMinute);
  t.is(count(statuses, 429), 50);
});

test.serial(
  'requests to an open webhook that run nothing get 429 by address; others do not count',
  async (t) => {
    const node = await startTestNode(t);
    const { client, passMs } = node;
    const open = await createTrigger(node, { auth: { type: 'none' }, execution: { mode: 'async' } });
    const signed = await createTrigger(node, { execution: { mode: 'async' } });
    const send = (body: unknown) => client.call('POST', open.path, { body });
    const accepted = await statusesOf(30, () => send({ message: 'hello' }));
    t.is(count(accepted, 202), 30);
    // Of such a size that each counts as ten.
    const values = `[${'0,'.repeat(49_990)}0]`;
    const statuses: number[] = [];
    for (let sent = 0; sent < perMinute / 10 + 5; sent += 1) statuses.push((await send(values)).status);
    t.is(count(statuses, 400), perMinute / 10);
    t.is(count(statuses, 429), 5);
    const refused = await send({ message: 'hello' });
    t.is(refused.json.error, 'rate_limit_exceeded');
    t.like(refused.json.details, { limit: perMinute, remaining: 0 });
    t.is((await sendSigned(node, signed, { message: 'hello' })).status, 202);
    passMs(60_000);
    t.is((await send({ message: 'hello' })).status, 202);
  },
);

test.serial(
  'an open webhook reads no payloads of an address that its tenant refuses too often',
  async (t) => {
    const node = await startTestNode(t);
    const { client, passMs } = node;
    const open = await createTrigger(node, { auth: { type: 'none' }, execution: { mode: 'async' } });
    await setPlan(node, operatorToken, 'free');
    const send = (body: unknown) => client.call('POST', open.path, { body });
    const small = () => send({ message: 'hello' });
    t.is(count(await statusesOf(10, small), 202), 10);
    const unread = '{"message":';
    t.is((await send(unread)).status, 400);
    const large = `{"message":"hello","values":[${'0,'.repeat(49_970)}0]}`;
    for (let sent = 0; sent < perMinute / 10; sent += 1) t.is((await send(large)).status, 429);
    const refused = await send(unread);
    t.is(refused.status, 429);
    t.like(refused.json.details, { limit: 10, remaining: 0 }, 'the window of the tenant');
    passMs(60_000);
    t.is(count(await statusesOf(20, small), 202), 10, 'the rate of the plan');
  },
);
