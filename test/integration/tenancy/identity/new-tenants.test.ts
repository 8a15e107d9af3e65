// How many tenants an address may make, over two nodes on one database.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { databaseOfFile } from '../../../support/database/database.js';
import { type IdentityNode, shiftedTime, startIdentityNode } from '../../../support/servers/identity.js';

const database = databaseOfFile(test);
const time = shiftedTime();
const perAddress = 5;
let nodes: readonly IdentityNode[];

test.before(async () => {
  nodes = await Promise.all([
    startIdentityNode(database.url, { time, newTenantsPerAddress: perAddress }),
    startIdentityNode(database.url, { time, newTenantsPerAddress: perAddress }),
  ]);
  database.atEnd(async () => void (await Promise.all(nodes.map((node) => node.close()))));
});

const account = () => ({ email: `${randomUUID()}@example.com`, password: 'correct horse battery' });

function register(address: string, index = 0) {
  return nodes[index % nodes.length]?.identity.accounts.register(account(), address) ?? Promise.reject();
}

test.serial(
  'an address has a daily limit of registrations, counted for all nodes and also concurrently',
  async (t) => {
    const addresses = Array.from({ length: 12 }, (_, index) => `2001:db8:7:7::${index + 1}`);
    const results = await Promise.allSettled(addresses.map(register));
    t.is(results.filter(({ status }) => status === 'fulfilled').length, perAddress);
    const refused = await t.throwsAsync(register('2001:db8:7:7:ffff::1'), { code: 'rate_limit_exceeded' });
    const { limit, remaining, retry_after } = (refused as { details?: Record<string, number> }).details ?? {};
    t.deepEqual([limit, remaining], [perAddress, 0]);
    t.true((retry_after ?? 0) > 0 && (retry_after ?? 0) <= 86_400);
    await t.notThrowsAsync(register('2001:db8:7:8::1'), 'another network has its own count');
    time.aheadMs += 86_400_000;
    await t.notThrowsAsync(register('2001:db8:7:7::1'), 'a new day begins anew');
  },
);

test.serial('a failed registration does not count for the address and leaves nothing behind', async (t) => {
  const address = '192.0.2.77';
  const taken = account();
  const [node] = nodes;
  const { accounts } = node?.identity ?? {};
  await accounts?.register(taken, '192.0.2.78');
  for (let count = 0; count < 10; count += 1) {
    await t.throwsAsync(async () => accounts?.register(taken, address), { code: 'conflict' });
  }
  for (let count = 0; count < perAddress; count += 1) await register(address, count);
  const late = account();
  await t.throwsAsync(async () => accounts?.register(late, address), { code: 'rate_limit_exceeded' });
  t.is(await accounts?.findByEmail(late.email), null);
});

test.serial(
  'over HTTP the refusal is 429 with its figures, for registrations and for further tenants',
  async (t) => {
    const [node] = nodes;
    if (node === undefined) throw new Error('there are two nodes');
    const owner = await node.api.post('/api/auth/register', account());
    const token = String(owner.at('data.access_token'));
    const statuses: number[] = [];
    for (let count = 0; count < perAddress; count += 1) {
      statuses.push((await node.api.post('/api/tenants', { name: 'More' }, { token })).status);
    }
    t.deepEqual(statuses, [201, 201, 201, 201, 429]);
    const refused = await node.api.post('/api/auth/register', account());
    t.is(refused.status, 429);
    t.is(refused.at('error'), 'rate_limit_exceeded');
    t.is(refused.headers.get('x-ratelimit-limit'), String(perAddress));
    t.is(refused.headers.get('x-ratelimit-remaining'), '0');
    t.truthy(refused.headers.get('retry-after'));
  },
);
