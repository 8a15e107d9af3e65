import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import {
  ask,
  booksOf,
  framesOf,
  openAiAt,
  setPlan,
  sharedNodeWithOpenAi,
  startVendor,
} from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { servedTime } from '../support/clocks/served-time.js';
import { operatorToken, startTestNode, type TestNode } from '../support/servers/node.js';
import { ownerView } from '../support/database/owner-view.js';
import { PrivateRedis } from '../support/servers/redis.js';
import { makeTenant } from '../support/builders/tenants.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const model = 'openai.gpt-4.1-mini';
const server = new OpenAiServer();
const shared = sharedNodeWithOpenAi(test, server);

/** Longer than Redis or a node stalls on a busy machine: shared answers are found, however long it takes. */
const patient = { limits: { sharedAnswerMsMax: 20_000, answerTurnMsMax: 100_000 } };

/** Two nodes of one installation, which share a database and a Redis; another one may join them. */
async function startPair(t: ExecutionContext, server: OpenAiServer, patience: Partial<typeof patient> = {}) {
  const redis = await PrivateRedis.start();
  t.teardown(() => redis.stop());
  const options = { environment: { ...openAiAt(server), REDIS_URL: redis.url }, ...patience };
  const one = await startTestNode(t, options);
  const { databaseUrl, dataDir } = one;
  const another = () => startTestNode(t, { ...options, databaseUrl, dataDir });
  return { one, other: await another(), redis, another };
}

let words = 0;

/**
 * Until the nodes find each other's answers: they connect to Redis in the background. Where a node waits for Redis no
 * longer than the product does, a busy machine may need many tries, and after each late answer the node rests for a second.
 */
async function untilShared(one: TestNode, other: TestNode): Promise<void> {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    await eventually(
      async () => {
        const asked = { model, temperature: 0, query: `word ${(words += 1)}` };
        await ask(from, asked);
        return (await ask(to, asked)).json.cached === true;
      },
      { timeoutMs: 100_000, everyMs: 100, what: 'one node finds the answers of the other' },
    );
  }
}

test.serial('a repeated call is answered from the cache without cost, whole or streamed', async (t) => {
  // Of its own: its clock is set forward.
  const server = await startVendor(t, new OpenAiServer());
  const node = await startTestNode(t, { environment: openAiAt(server) });
  const first = await ask(node, { model, temperature: 0 });
  t.is(first.json.cached, undefined);
  const hit = await ask(node, { model, temperature: 0 });
  const { latency_ms: latencyMs, ...rest } = hit.json;
  const { response, usage } = first.json;
  t.deepEqual(rest, { success: true, response, model, provider: 'openai', usage, cost: 0, cached: true });
  t.true(latencyMs >= 0);
  const streamed = framesOf(await ask(node, { model, temperature: 0, stream: true }));
  t.is(streamed.map(({ chunk }) => chunk).join(''), response);
  t.deepEqual(streamed.at(-1), { chunk: '', done: true, usage });
  t.is(server.requests.length, 1);
  const books = await booksOf(node);
  t.is(books.rows.length, 1);
  t.is(books.counted, usage.total_tokens);
  await setPlan(node, operatorToken, 'enterprise', { monthly_tokens: 0 });
  t.true((await ask(node, { model, temperature: 0 })).json.cached, 'a hit needs no quota');
  node.passMs(3_600_001);
  t.is((await ask(node, { model, temperature: 0 })).json.error, 'quota_exceeded', 'an hour later it is gone');
});

test.serial(
  'each cache hit has a separate row, also for callers that waited for the same answer',
  async (t) => {
    const node = await shared.tenant(t);
    server.byDefault({ pieces: ['slow', ' answer'], pieceDelayMs: 100 });
    await Promise.all(Array.from({ length: 5 }, () => ask(node, { model, temperature: 0 })));
    await ask(node, { model, temperature: 0, stream: true });
    const owner = await ownerView(node.databaseUrl);
    const { rows } = await owner.query(
      `select from_cache as hit, count(*)::int as calls, sum(output_tokens)::int as output, sum(cost) as cost,
       min(input_preview) as asked, max(output_preview) as answered
     from calls where tenant_id = $1 and status = 'success' group by 1 order by 1`,
      [node.bootstrap.tenant_id],
    );
    const hours = await owner.query(
      'select sum(cache_hits)::int as hits, sum(calls)::int as calls from call_hours where tenant_id = $1',
      [node.bootstrap.tenant_id],
    );
    await owner.end();
    const words = { asked: 'Hello there', answered: 'slow answer' };
    t.like(rows[0], { hit: false, calls: 1, output: 2, ...words });
    t.deepEqual(rows[1], { hit: true, calls: 5, output: 10, cost: 0, ...words });
    t.deepEqual(hours.rows, [{ hits: 5, calls: 6 }]);
  },
);

test.serial('only repeatable calls are looked up, and only for the same tenant', async (t) => {
  const node = await shared.tenant(t);
  const other = await makeTenant(node);
  const calls = async (...bodies: readonly Readonly<Record<string, unknown>>[]): Promise<number> => {
    const before = server.requests.length;
    for (const body of bodies) t.is((await ask(node, { model, ...body })).status, 200);
    return server.requests.length - before;
  };
  t.is(await calls({}, {}), 2);
  t.is(await calls({ cache: true }, { cache: true }), 1);
  t.is(
    await calls({ temperature: 0 }, { temperature: 0, cache: false }, { temperature: 0, max_tokens: 5 }),
    3,
  );
  const noCache = { key: node.bootstrap.api_key, headers: { 'cache-control': 'no-cache' } };
  t.is((await ask(node, { model, temperature: 0 }, noCache)).json.cached, undefined);
  const elsewhere = await ask(node, { model, temperature: 0 }, { key: other.keys.admin });
  t.is(elsewhere.status, 200);
  t.is(elsewhere.json.cached, undefined);
});

test.serial('an automatic choice is served only to keys that may ask for the same models', async (t) => {
  const node = await shared.tenant(t);
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  const keyFor = async (...models: readonly string[]): Promise<string> => {
    const body = { name: models.join(' '), role: 'admin', allowed_models: models };
    return (await node.client.call('POST', '/api/keys', { token, tenant, body })).json.data.api_key;
  };
  const simulated = await keyFor('sim.echo', 'sim.nothing-*');
  const same = await keyFor('sim.nothing-*', 'sim.echo');
  const asked = async (key: string, query: string) => {
    const { status, json } = await ask(node, { model: 'auto', temperature: 0, query }, { key });
    t.is(status, 200);
    return [json.provider, json.cached];
  };
  const free = node.bootstrap.api_key;
  for (const [query, ...keys] of [
    ['first with a list', simulated, free],
    ['first without', free, simulated],
  ] as const) {
    for (const key of keys)
      t.deepEqual(await asked(key, query), [key === free ? 'openai' : 'sim', undefined]);
    for (const key of keys) t.deepEqual(await asked(key, query), [key === free ? 'openai' : 'sim', true]);
    t.deepEqual(await asked(same, query), ['sim', true], 'the order of the list does not matter');
  }
});

test.serial('errors and truncated answers are not cached', async (t) => {
  const node = await shared.tenant(t);
  server.script({ status: 400 }, { pieces: ['a', 'b'], cutAfter: 1 });
  t.is((await ask(node, { model, temperature: 0 })).status, 502);
  t.is(framesOf(await ask(node, { model, temperature: 0, stream: true })).at(-1)?.error, 'provider_error');
  // An imitator's: it has an empty finish reason in each chunk.
  const torn = new URL('../../../test/fixtures/llm/compatible/empty-finish-reason-cut.sse', import.meta.url);
  server.script({ garbage: readFileSync(torn, 'utf8') });
  t.is(framesOf(await ask(node, { model, temperature: 0, stream: true })).at(-1)?.error, 'provider_error');
  const whole = await ask(node, { model, temperature: 0 });
  t.is(whole.json.response, 'Hello world');
  t.is(whole.json.cached, undefined);
});

test.serial('of a hundred identical concurrent calls one goes to the vendor', async (t) => {
  const node = await shared.tenant(t);
  server.byDefault({ pieces: ['slow', ' answer'], pieceDelayMs: 200 });
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, at) => ask(node, { model, temperature: 0, stream: at % 2 === 0 })),
  );
  t.true(answers.every(({ status }) => status === 200));
  t.true(answers.every((answer, at) => at % 2 === 0 || answer.json.response === 'slow answer'));
  t.is(server.requests.length, 1);
  t.is((await booksOf(node)).rows.length, 1);
});

test.serial('if the caller of a shared call leaves, a waiting call takes its place', async (t) => {
  const node = await shared.tenant(t);
  server.script({ hangBeforeHeaders: true });
  const leaving = new AbortController();
  const left = fetch(`${node.node.baseUrl}/api/v3/llm/public/call`, {
    method: 'POST',
    headers: { 'x-api-key': node.bootstrap.api_key, 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'Hello there', model, temperature: 0 }),
    signal: leaving.signal,
  }).catch(() => 'gone');
  await eventually(() => server.requests.length === 1);
  const waiting = Promise.all([ask(node, { model, temperature: 0 }), ask(node, { model, temperature: 0 })]);
  leaving.abort();
  t.is(await left, 'gone');
  const answers = await waiting;
  t.deepEqual(
    answers.map(({ json }) => json.response),
    ['Hello world', 'Hello world'],
  );
  t.is(server.requests.length, 2);
});

test.serial('if a shared call fails, the waiting calls continue on their own at once', async (t) => {
  // Of its own: so many failures break the circuit to the vendor.
  const server = await startVendor(t, new OpenAiServer());
  const node = await startTestNode(t, { environment: openAiAt(server) });
  server.byDefault({ status: 400 });
  const answers = await Promise.all(Array.from({ length: 5 }, () => ask(node, { model, temperature: 0 })));
  t.true(answers.every(({ status }) => status === 502));
  t.is(server.requests.length, 5, 'each has heard its own refusal from the vendor');
});

test.serial("a node serves another node's answer, and drops it after an hour", async (t) => {
  const server = await startVendor(t, new OpenAiServer());
  const { one, other } = await startPair(t, server, patient);
  const mine = await makeTenant(one);
  await untilShared(one, other);
  const before = server.requests.length;
  for (const query of ['first', 'second']) {
    const asked = { model, temperature: 0, query };
    const { json } = await ask(one, asked);
    await eventually(async () => (await ask(other, asked)).json.cached === true);
    const hit = framesOf(await ask(other, { ...asked, stream: true }));
    t.is(hit.map(({ chunk }) => chunk).join(''), json.response);
    t.deepEqual(hit.at(-1), { chunk: '', done: true, usage: json.usage });
  }
  t.true(server.requests.length - before <= 4, 'one call each, or a second where the first was told late');
  const elsewhere = await ask(other, { model, temperature: 0 }, { key: mine.keys.admin });
  t.is(elsewhere.json.cached, undefined, 'of another tenant it knows nothing');
  one.passMs(3_600_001);
  other.passMs(3_600_001);
  t.is((await ask(other, { model, temperature: 0 })).json.cached, undefined);
});

test.serial('of a hundred identical concurrent calls at three nodes one goes to the vendor', async (t) => {
  const server = await startVendor(t, new OpenAiServer());
  const { one, other, another } = await startPair(t, server, patient);
  const third = await another();
  await untilShared(one, other);
  await untilShared(other, third);
  const before = server.requests.length;
  server.byDefault({ pieces: ['slow', ' answer'], pieceDelayMs: 200 });
  const asked = { model, temperature: 0, query: 'the same of everybody' };
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, at) => ask([one, other, third][at % 3] ?? one, asked)),
  );
  t.true(answers.every(({ json }) => json.response === 'slow answer'));
  t.is(server.requests.length - before, 1);
});

test.serial('a slow or unavailable Redis is a cache miss without an error or a wait', async (t) => {
  const server = await startVendor(t, new OpenAiServer());
  const { one, other, redis } = await startPair(t, server);
  await untilShared(one, other);
  const servedMs = servedTime(t);
  const round = async (words: string): Promise<number> => {
    const startedAt = servedMs();
    for (let nth = 0; nth < 20; nth += 1) {
      const { status, json } = await ask(one, { model, temperature: 0, query: `${words} ${nth}` });
      t.is(status, 200);
      t.is(json.cached, undefined);
    }
    return servedMs() - startedAt;
  };
  // The comparison with a responsive Redis shows the calls' own time and the load of this machine.
  const wellMs = await round('well');
  redis.freeze();
  const frozenMs = await round('frozen');
  redis.thaw();
  await redis.kill();
  const deadMs = await round('dead');
  const boundMs = 5_000 + 3 * wellMs;
  t.true(
    frozenMs < boundMs && deadMs < boundMs,
    `well ${wellMs} ms, frozen ${frozenMs} ms, dead ${deadMs} ms`,
  );
  t.true(
    (await ask(one, { model, temperature: 0, query: 'dead 3' })).json.cached,
    'this node still knows it',
  );
  await redis.restart();
  await untilShared(one, other);
});
