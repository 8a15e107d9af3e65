// The windows of users and addresses hold for all nodes together: real processes and a Redis of their own.
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { Redis } from 'ioredis';
import { Agent, setGlobalDispatcher } from 'undici';
import type { CallOptions, CallResult } from '../support/clients/client.js';
import { eventually } from '../support/clocks/eventually.js';
import { type NodeProcess, startNodes } from '../support/servers/nodes.js';
import { PrivateRedis } from '../support/servers/redis.js';

// Requests are counted, so none may be lost with a reused connection.
setGlobalDispatcher(new Agent({ pipelining: 0, connect: { timeout: 100_000 } }));

/** The node gives a retry time: many requests at once are an overload of a busy machine, refused before the count. */
async function ask({ client }: NodeProcess, path: string, options: CallOptions): Promise<CallResult> {
  for (;;) {
    const answer = await client.call('GET', path, options);
    if (answer.status !== 503) return answer;
    await delay(1_000 * Number(answer.headers.get('retry-after')));
  }
}

function askAll(
  nodes: readonly NodeProcess[],
  count: number,
  path: string,
  options: CallOptions = {},
): Promise<CallResult[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) => {
      const node = nodes[index % nodes.length];
      if (node === undefined) throw new Error('there is no node');
      return ask(node, path, options);
    }),
  );
}

async function exchangesOf(redis: Redis): Promise<number> {
  return Number(/^cmdstat_eval:calls=(\d+)/m.exec(await redis.info('commandstats'))?.[1] ?? 0);
}

/** How often a node counted alone because Redis did not answer in time. The log tells only the first of several. */
async function timesAlone(nodes: readonly NodeProcess[]): Promise<number> {
  const texts = await Promise.all(nodes.map(async (node) => (await ask(node, '/metrics', {})).text));
  const counts = texts.map(
    (text) => /^troupe_window_exchanges_unanswered_total (\d+)$/m.exec(text)?.[1] ?? 0,
  );
  return counts.reduce((sum: number, count) => sum + Number(count), 0);
}

function expectWindow(t: ExecutionContext, { status, headers, json }: CallResult, limit: number): void {
  t.is(Number(headers.get('x-ratelimit-limit')), limit);
  if (status === 200) return;
  t.is(status, 429);
  t.is(json.error?.code ?? json.error, 'rate_limit_exceeded');
  t.is(headers.get('x-ratelimit-remaining'), '0');
  t.true(Number(headers.get('retry-after')) > 0);
}

const attemptsMax = 5;

test.serial('three nodes count users and addresses together, with few questions to Redis', async (t) => {
  t.timeout(300_000);
  const server = await PrivateRedis.start();
  t.teardown(() => server.kill());
  // Each address is a client of its own.
  const { nodes } = await startNodes(t, {
    count: 3,
    redisUrl: server.url,
    environment: { TROUPE_TRUSTED_PROXIES: '127.0.0.1' },
  });
  const redis = new Redis(server.url);
  t.teardown(() => redis.disconnect());
  const [first] = nodes;
  if (first === undefined) return t.fail();
  await eventually(async () => {
    const [key] = await redis.keys('{troupe-windows-*}:nodes');
    return key !== undefined && (await redis.zcard(key)) === 3;
  });

  const newPerson = async (name: string): Promise<CallOptions> => {
    const account = { email: `${name}@example.com`, password: 'a long password', tenant_name: 'T' };
    const made = await first.client.call('POST', '/api/auth/register', { body: account });
    t.is(made.status, 201, made.text);
    return { token: made.json.data.access_token };
  };
  const newAddress = async (name: string): Promise<CallOptions> => ({
    headers: { 'x-forwarded-for': `192.0.2.${name}` },
  });

  for (const { limit, path, newClient, requests } of [
    { limit: 300, path: '/api/auth/me', newClient: newPerson, requests: 900 },
    { limit: 120, path: '/join', newClient: newAddress, requests: 400 },
  ]) {
    const once = async (attempt: number): Promise<boolean> => {
      const options = await newClient(String(attempt));
      const alone = await timesAlone(nodes);
      const [before, startedAt] = [await exchangesOf(redis), performance.now()];
      const answers = await askAll(nodes, requests, path, options);
      const exchanges = (await exchangesOf(redis)) - before;
      // On a very slow machine the first have left the window before the last arrive. A node whose Redis answers too late
      // counts by itself for a while. Both say nothing of the common window.
      const isSlow = performance.now() - startedAt > 40_000 || (await timesAlone(nodes)) > alone;
      if (isSlow && attempt < attemptsMax) return false;
      const admitted = answers.filter(({ status }) => status === 200).length;
      t.log(`${path}: ${admitted} of ${limit} admitted, ${exchanges} questions to Redis`);
      t.true(admitted >= limit * 0.9 && admitted <= limit * 1.1, `${admitted} of ${limit}`);
      t.true(exchanges <= limit / 3, `${exchanges} questions for ${requests} requests`);
      for (const answer of answers) expectWindow(t, answer, limit);
      const refused = await askAll(nodes, 3, path, options);
      t.deepEqual(
        refused.map(({ status }) => status),
        [429, 429, 429],
        'each node knows of the others',
      );
      return true;
    };
    for (let attempt = 1; !(await once(attempt));) attempt += 1;
  }

  // Other addresses have windows of their own; one that asks little costs Redis nothing; nothing stays for long.
  const before = await exchangesOf(redis);
  for (let client = 0; client < 20; client += 1) {
    const headers = { 'x-forwarded-for': `198.51.100.${client}` };
    t.is((await ask(first, '/join', { headers })).status, 200);
  }
  t.true((await exchangesOf(redis)) - before <= 3, 'only the reports that the nodes count');
  for (const key of await redis.keys('{troupe-windows-*}:*')) {
    const ttlMs = await redis.pttl(key);
    t.true(ttlMs !== -1 && ttlMs <= 61_000, `${key}: ${ttlMs}`);
  }
});
