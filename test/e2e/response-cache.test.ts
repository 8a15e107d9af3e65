import test from 'ava';
import { ask, booksOf, framesOf, openAiAt, setPlan, startVendor } from '../support/direct-calls.js';
import { eventually } from '../support/eventually.js';
import { operatorToken, startTestNode } from '../support/node.js';
import { makeTenant } from '../support/tenants.js';
import { OpenAiServer } from '../support/vendors/openai-server.js';

const model = 'openai.gpt-4.1-mini';

test.serial('a repeated call is answered from the cache, free of charge, whole or streamed', async (t) => {
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

test.serial('only calls that may be repeated are looked up, and only for the same tenant', async (t) => {
  const server = await startVendor(t, new OpenAiServer());
  const node = await startTestNode(t, { environment: openAiAt(server) });
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

test.serial('neither errors nor cut-off answers are kept', async (t) => {
  const server = await startVendor(t, new OpenAiServer());
  const node = await startTestNode(t, { environment: openAiAt(server) });
  server.script({ status: 400 }, { pieces: ['a', 'b'], cutAfter: 1 });
  t.is((await ask(node, { model, temperature: 0 })).status, 502);
  t.is(framesOf(await ask(node, { model, temperature: 0, stream: true })).at(-1)?.error, 'provider_error');
  const whole = await ask(node, { model, temperature: 0 });
  t.is(whole.json.response, 'Hello world');
  t.is(whole.json.cached, undefined);
});

test.serial('of a hundred identical calls at once one goes to the vendor', async (t) => {
  const server = await startVendor(t, new OpenAiServer());
  const node = await startTestNode(t, { environment: openAiAt(server) });
  server.byDefault({ pieces: ['slow', ' answer'], pieceDelayMs: 200 });
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, at) => ask(node, { model, temperature: 0, stream: at % 2 === 0 })),
  );
  t.true(answers.every(({ status }) => status === 200));
  t.true(answers.every((answer, at) => at % 2 === 0 || answer.json.response === 'slow answer'));
  t.is(server.requests.length, 1);
  t.is((await booksOf(node)).rows.length, 1);
});

test.serial('when the call that others wait for is left, one of them goes on in its place', async (t) => {
  const server = await startVendor(t, new OpenAiServer());
  const node = await startTestNode(t, { environment: openAiAt(server) });
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

test.serial('when it fails, the others go their own ways at once', async (t) => {
  const server = await startVendor(t, new OpenAiServer());
  const node = await startTestNode(t, { environment: openAiAt(server) });
  server.byDefault({ status: 400 });
  const answers = await Promise.all(Array.from({ length: 5 }, () => ask(node, { model, temperature: 0 })));
  t.true(answers.every(({ status }) => status === 502));
  t.is(server.requests.length, 5, 'each has heard its own refusal from the vendor');
});
