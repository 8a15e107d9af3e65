import test from 'ava';
import {
  addOwnKey,
  ask,
  booksOf,
  framesOf,
  openAiAt,
  platformKey,
  setPlan,
  sharedNodeWithOpenAi,
  startVendor,
  sumOf,
} from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { eventOf, startConversations } from '../support/servers/conversations.js';
import { operatorToken, startTestNode } from '../support/servers/node.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';
import { servedTime } from '../support/clocks/served-time.js';

const economical = 'openai.gpt-4.1-mini';
const flagship = 'openai.gpt-5';
const server = new OpenAiServer();
const shared = sharedNodeWithOpenAi(test, server);

test.serial("the ledger equals the vendor's bill for whole and streamed calls", async (t) => {
  const node = await shared.tenant(t);
  for (const stream of [false, true]) {
    const answer = await ask(node, { model: economical, stream });
    t.is(answer.status, 200, answer.text);
    if (!stream) t.is(answer.json.response, 'Hello world');
    if (!stream) t.true(answer.json.cost > 0);
    if (stream) t.deepEqual(framesOf(answer)[0], { chunk: 'Hello', done: false });
  }
  const { rows, counted } = await booksOf(node);
  t.is(rows.length, 2);
  t.deepEqual(sumOf(rows), server.billed);
  t.is(counted, server.billed.input + server.billed.output);
  t.is(server.requests[0]?.key, platformKey);
});

test.serial("a vendor's failure is reported with its reason and without a secret", async (t) => {
  // Of its own: so many failures break the circuit to the vendor.
  const server = await startVendor(t, new OpenAiServer());
  const node = await startTestNode(t, { environment: openAiAt(server) });
  server.script({ status: 400, message: `no such thing, Bearer ${platformKey}` });
  const refused = await ask(node, { model: economical });
  t.is(refused.status, 502);
  t.is(refused.json.error, 'provider_error');
  t.is(refused.json.details.provider, 'openai');
  t.regex(refused.json.details.original_error, /no such thing/);
  t.false(refused.text.includes(platformKey));
  const talk = await startConversations(node, economical);
  server.script({ status: 400, message: `no such thing, Bearer ${platformKey}` });
  const turn = await talk.say('hello');
  const details = eventOf(turn, 'error')?.['details'];
  t.deepEqual(details, refused.json.details);
  const { data: execution } = await talk.get(`/api/v1/executions/${turn.executionId}`);
  t.deepEqual(execution.error.details, details);
  server.script({ status: 503, headers: { 'retry-after': '30' } }, { status: 503 });
  const away = await ask(node, { model: economical, stream: true });
  t.is(away.status, 503);
  t.is(away.json.error, 'provider_unavailable');
  t.true(Number(away.headers.get('retry-after')) >= 1);
  server.script({ garbage: 'not json' }, { garbage: '{' });
  t.is((await ask(node, { model: economical })).status, 502);
  const { rows, counted } = await booksOf(node);
  t.true(rows.length >= 5);
  t.true(rows.every(({ outcome }) => outcome === 'failed'));
  t.is(counted, 0);
});

test.serial('an error after the answer began is its last event', async (t) => {
  const node = await shared.tenant(t);
  server.script({ pieces: ['a', 'b', 'c'], cutAfter: 2 });
  const frames = framesOf(await ask(node, { model: economical, stream: true }));
  t.is(frames.map(({ chunk }) => chunk ?? '').join(''), 'ab');
  const { message, ...last } = frames.at(-1) ?? {};
  t.deepEqual(last, { error: 'provider_error', done: true });
  t.is(typeof message, 'string');
  t.is(server.requests.length, 1, 'after content nobody else is asked');
});

test.serial("a model outside the plan's tiers is refused without a vendor request", async (t) => {
  const node = await shared.tenant(t);
  await setPlan(node, operatorToken, 'free');
  const refused = await ask(node, { model: flagship });
  t.is(refused.status, 403);
  t.is(refused.json.error, 'MODEL_TIER_RESTRICTED');
  t.is(server.requests.length, 0);
  const auto = await ask(node, { query: 'Prove that the square root of 2 is irrational, step by step.' });
  t.is(auto.status, 200, auto.text);
  const models = await node.client.call('GET', '/api/v3/llm/models', { key: node.bootstrap.api_key });
  const chosen = models.json.data.find(({ id }: { id: string }) => id === auto.json.model);
  t.is(chosen.tier, 'economical');
});

test.serial('the call that crosses the quota is served whole, the next is refused', async (t) => {
  const node = await shared.tenant(t);
  await setPlan(node, operatorToken, 'enterprise', { monthly_tokens: 4 });
  t.is((await ask(node, { model: 'sim.echo' })).status, 200);
  const refused = await ask(node, { model: 'sim.echo' });
  t.is(refused.status, 429);
  t.is(refused.json.error, 'quota_exceeded');
  t.deepEqual(Object.keys(refused.json.details).toSorted(), ['limit', 'reset_date', 'used']);
  t.is(refused.json.details.limit, 4);
  t.is(refused.json.details.used, 5);
  t.true(Number(refused.headers.get('retry-after')) > 0);
  t.is(refused.headers.get('x-ratelimit-limit'), '4', 'the figures are those of what refused');
  t.is(refused.headers.get('x-ratelimit-remaining'), '0');
  t.is(Number(refused.headers.get('x-ratelimit-reset')) * 1_000, Date.parse(refused.json.details.reset_date));
  t.is((await booksOf(node)).rows.length, 1);
});

test.serial("a tenant's own key is used first, beyond tiers and with an empty quota", async (t) => {
  const node = await shared.tenant(t);
  await setPlan(node, operatorToken, 'free', { monthly_tokens: 0 });
  t.is((await ask(node, { model: economical })).json.error, 'quota_exceeded');
  await addOwnKey(node, 'openai', 'sk-own-0123456789');
  const answer = await ask(node, { model: flagship });
  t.is(answer.status, 200, answer.text);
  t.is(answer.headers.get('x-troupe-paid-by'), 'tenant');
  t.is(server.requests[0]?.key, 'sk-own-0123456789');
  const { rows, counted } = await booksOf(node);
  t.deepEqual(
    rows.map(({ payer }) => payer),
    ['tenant'],
  );
  t.is(counted, 0);
  // The own key may not use this one model.
  server.script({ garbage: JSON.stringify({ error: { code: 'model_not_found', message: 'no access' } }) });
  t.is((await ask(node, { model: flagship })).json.error, 'MODEL_TIER_RESTRICTED');
  server.keys.add(platformKey);
  const withoutQuota = await ask(node, { model: economical });
  t.is(withoutQuota.json.error, 'quota_exceeded', 'the platform takes over only where there is quota');
  const outside = await ask(node, { model: flagship, stream: true });
  t.is(outside.status, 403);
  t.is(outside.json.error, 'MODEL_TIER_RESTRICTED');
});

test.serial(
  "if the tenant's own key is refused, the platform's key serves the call and it counts",
  async (t) => {
    const node = await shared.tenant(t);
    server.keys.add(platformKey);
    await addOwnKey(node, 'openai', 'sk-expired-0123456789');
    const answer = await ask(node, { model: economical, stream: true });
    t.is(answer.status, 200, answer.text);
    t.is(answer.headers.get('x-troupe-paid-by'), 'platform');
    const { rows, counted } = await booksOf(node);
    t.deepEqual(
      rows.map(({ payer, outcome, attempt_number: number }) => [number, payer, outcome]),
      [
        [1, 'tenant', 'failed'],
        [2, 'platform', 'completed'],
      ],
    );
    t.is(rows[0]?.call_id, rows[1]?.call_id);
    t.is(counted, server.billed.input + server.billed.output);
  },
);

test.serial('a leaving client ends the vendor call, and its usage is recorded', async (t) => {
  const node = await shared.tenant(t);
  server.script({ pieces: ['one', ' two'], hangAfter: 2 });
  const leaving = new AbortController();
  const response = await fetch(`${node.node.baseUrl}/api/v3/llm/public/call`, {
    method: 'POST',
    headers: { 'x-api-key': node.bootstrap.api_key, 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'Count', model: economical, stream: true }),
    signal: leaving.signal,
  });
  t.is(response.status, 200);
  const [request] = server.requests;
  // The node has received all that the client has: data that was only sent might not count.
  let seen = '';
  for await (const chunk of response.body ?? []) {
    seen += Buffer.from(chunk).toString();
    if (seen.includes(' two')) break;
  }
  const servedMs = servedTime(t);
  leaving.abort();
  await eventually(() => request?.leftAtMs !== undefined);
  // A tenth of a second is the promise; the machine of a test may be busy.
  t.true(servedMs() < 1_000);
  const row = await eventually(async () => {
    const [only] = (await booksOf(node)).rows;
    return only?.outcome === null ? undefined : only;
  });
  t.is(row.outcome, 'cancelled');
  t.is(row.usage_source, 'estimated');
  t.true(row.output_tokens >= 2);
  t.is((await booksOf(node)).counted, row.input_tokens + row.output_tokens);
});

test.serial('auto switches to another model if the vendor fails before any content', async (t) => {
  const node = await shared.tenant(t);
  server.script({ status: 500 }, { status: 500 });
  const answer = await ask(node, { query: 'Hi' });
  t.is(answer.status, 200, answer.text);
  const { rows } = await booksOf(node);
  t.is(rows.length, 3);
  t.not(rows[2]?.model, rows[0]?.model);
  t.is(answer.json.model, rows[2]?.model);
  t.is(answer.json.routing.model_chosen, rows[2]?.model);
});
