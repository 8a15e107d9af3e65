import test from 'ava';
import { askServed, booksOf, framesOf, sumOf } from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { startTestNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test('a call with a key or a token is answered whole, in the specified form', async (t) => {
  const node = await shared.tenant(t);
  const { api_key: key, access_token: token, tenant_id: tenant } = node.bootstrap;
  const answer = await askServed(node, { model: 'sim.echo' });
  t.is(answer.status, 200, answer.text);
  const { latency_ms: latencyMs, ...rest } = answer.json;
  t.deepEqual(rest, {
    success: true,
    response: 'echo: Hello there',
    model: 'sim.echo',
    provider: 'sim',
    usage: { input_tokens: 2, output_tokens: 3, total_tokens: 5 },
    cost: 0,
  });
  t.true(Number.isInteger(latencyMs) && latencyMs >= 0);
  t.is(answer.headers.get('x-troupe-paid-by'), 'platform');
  const body = { query: 'and now?', model: 'sim.echo', messages: [{ role: 'user', content: 'before' }] };
  const signedIn = await node.client.call('POST', '/api/v3/llm/call', { token, tenant, body });
  t.is(signedIn.json.response, 'echo: and now?', 'messages come before the query');
  t.is(signedIn.json.usage.input_tokens, 3);
  t.is((await node.client.call('POST', '/api/v3/llm/call', { key, body })).status, 401);
  const codeOfBearer = async (bearer: string): Promise<unknown> => {
    const refused = await node.client.call('POST', '/api/v3/llm/public/call', {
      token: bearer,
      tenant,
      body,
    });
    return [refused.status, refused.json.error];
  };
  t.deepEqual(await codeOfBearer(token), [401, 'authentication_required'], 'an access token is no key');
  t.deepEqual(
    await codeOfBearer('sk-of-somewhere-else'),
    [401, 'invalid_api_key'],
    'and this is a wrong one',
  );

  const { json } = await node.client.call('GET', '/api/quota', { key });
  t.is(json.quota.used, 5 + 6, 'calls of the vendor for trials count like any other');
  const { rows, counted } = await booksOf(node);
  t.is(counted, 11);
  t.deepEqual(
    rows.map(({ outcome, payer, usage_source: source }) => [outcome, payer, source]),
    [
      ['completed', 'platform', 'reported'],
      ['completed', 'platform', 'reported'],
    ],
  );
});

test('a streamed call sends a chunk for each word and the usage at the end', async (t) => {
  const node = await shared.tenant(t);
  const answer = await askServed(node, { model: 'sim.echo', stream: true });
  t.is(answer.status, 200);
  t.is(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  t.is(answer.headers.get('cache-control'), 'no-cache, no-transform');
  t.is(answer.headers.get('x-troupe-paid-by'), 'platform');
  t.deepEqual(framesOf(answer), [
    { chunk: 'echo:', done: false },
    { chunk: ' Hello', done: false },
    { chunk: ' there', done: false },
    { chunk: '', done: true, usage: { input_tokens: 2, output_tokens: 3, total_tokens: 5 } },
  ]);
  const long = framesOf(await askServed(node, { model: 'sim.lorem-5000', stream: true }));
  t.is(long.length, 5001);
  t.is(long.at(-1)?.usage.output_tokens, 5000);
  t.is((await booksOf(node)).counted, 5 + 5002);
});

test('auto reports its chosen model and the reason', async (t) => {
  const node = await shared.tenant(t);
  const { status, json, text } = await askServed(node, {});
  t.is(status, 200, text);
  t.regex(json.model, /^sim\./, 'where no vendor has a key, the one for trials answers');
  t.is(json.routing.is_auto_routed, true);
  t.is(json.routing.model_chosen, json.model);
  t.true(json.routing.confidence > 0 && json.routing.confidence <= 1);
  t.true(json.routing.reason.length > 0);
});

test('an invalid request is refused with the reason, and the ledger does not record it', async (t) => {
  const node = await shared.tenant(t);
  const refusals: readonly [Readonly<Record<string, unknown>>, number, string, string][] = [
    [{ query: undefined }, 400, 'missing_required_field', 'query'],
    [{ query: ' ' }, 400, 'validation_error', 'query'],
    [{ query: 7 }, 400, 'validation_error', 'query'],
    [{ temperature: 2.1 }, 400, 'validation_error', 'temperature'],
    [{ temperature: -0.1 }, 400, 'validation_error', 'temperature'],
    [{ max_tokens: 0 }, 400, 'validation_error', 'max_tokens'],
    [{ max_tokens: 1.5 }, 400, 'validation_error', 'max_tokens'],
    [{ stream: 'yes' }, 400, 'validation_error', 'stream'],
    [{ messages: [{ role: 'robot', content: 'x' }] }, 400, 'validation_error', 'messages.0.role'],
    [{ model: 'sim.unknown' }, 400, 'invalid_model', 'model'],
    [{ model: 'nobody.model' }, 400, 'invalid_model', 'model'],
    [{ model: 'openai.gpt-4.1-mini' }, 400, 'invalid_model', 'model'],
    [{ model: 'sim.echo', provider: 'openai' }, 400, 'invalid_model', 'model'],
    [{ model: 'sim.echo', provider: 'nobody' }, 400, 'invalid_provider', 'provider'],
    [{ provider: 'nobody' }, 400, 'invalid_provider', 'provider'],
  ];
  for (const [body, status, error, field] of refusals) {
    for (const stream of [false, true]) {
      const answer = await askServed(node, { stream, ...body });
      t.is(answer.status, status, answer.text);
      t.is(answer.json.error, error, answer.text);
      t.is(answer.json.details.field, field, answer.text);
    }
  }
  const size = 4 * 1024 * 1024;
  for (const query of ['x'.repeat(size), 'x'.repeat(5 * size)])
    t.like(await askServed(node, { model: 'sim.echo', query }), {
      status: 413,
      json: { error: 'payload_too_large' },
    });
  t.deepEqual(await booksOf(node), { rows: [], counted: 0 });
  const fits = await askServed(node, { model: 'sim.echo', query: 'x'.repeat(3 * 1024 * 1024) });
  t.is(fits.status, 200);
});

test('the list of models shows tiers, prices and availability', async (t) => {
  const node = await shared.tenant(t);
  const { api_key: key, access_token: token, tenant_id: tenant } = node.bootstrap;
  const listed = await node.client.call('GET', '/api/v3/llm/models', { key });
  t.is(listed.json.count, listed.json.data.length);
  const ofVendor = (vendor: string) =>
    listed.json.data.filter((model: { vendor: string }) => model.vendor === vendor);
  for (const vendor of ['openai', 'anthropic', 'google', 'xai', 'openrouter', 'sim']) {
    t.true(ofVendor(vendor).length > 0, vendor);
  }
  t.true(ofVendor('sim')[0].available);
  t.false(ofVendor('openai')[0].available);
  t.is((await node.client.call('GET', '/api/v3/llm/models', { token, tenant })).status, 200);
});

test('without the demo seed the sim vendor exists only if it is switched on', async (t) => {
  // Of its own: a setting is tried.
  const node = await startTestNode(t, { environment: { TROUPE_SIM: 'off' } });
  const { status, json } = await askServed(node, { model: 'sim.echo' });
  t.is(status, 400);
  t.is(json.error, 'invalid_model');
  const auto = await askServed(node, {});
  t.is(auto.json.error, 'invalid_model', 'and nobody else has a key');
});

test('the ledger records each of many concurrent calls to the token, also those whose clients left', async (t) => {
  const node = await shared.tenant(t);
  const once = async (at: number): Promise<number> => {
    const leaving = new AbortController();
    const model = at % 5 === 0 ? 'sim.lorem-50-20' : 'sim.echo';
    try {
      const response = await fetch(`${node.node.baseUrl}/api/v3/llm/public/call`, {
        method: 'POST',
        headers: { 'x-api-key': node.bootstrap.api_key, 'content-type': 'application/json' },
        body: JSON.stringify({ query: `call ${at}`, model, stream: at % 2 === 0 }),
        signal: leaving.signal,
      });
      if (at % 10 === 0 && response.status === 200) leaving.abort();
      await response.text();
      return response.status;
    } catch (error) {
      if (!leaving.signal.aborted) throw error;
      return 499;
    }
  };
  // A database that stands still for seconds refuses admission with 503. Such a call was not counted, and is made again. If
  // its opening may have been committed, its row is closed as never sent.
  let refused = 0;
  const call = (at: number): Promise<number> =>
    eventually(
      async () => {
        const status = await once(at);
        if (status !== 503) return status;
        refused += 1;
        return undefined;
      },
      { everyMs: 500 },
    );
  const statuses = await Promise.all(Array.from({ length: 300 }, (_, at) => call(at)));
  t.is(statuses.filter((status) => status === 200).length, 270, [...new Set(statuses)].join(', '));
  const books = await eventually(
    async () => {
      const now = await booksOf(node);
      return now.rows.every(({ outcome }) => outcome !== null) ? now : undefined;
    },
    { timeoutMs: 30_000 },
  );
  const neverSent = books.rows.filter(
    ({ outcome, failure }) => outcome === 'failed' && failure === 'unavailable',
  );
  t.true(neverSent.length <= refused);
  t.is(books.rows.length - neverSent.length, 300);
  t.is(books.rows.filter(({ outcome }) => outcome === 'cancelled').length, 30);
  const { input, output } = sumOf(books.rows);
  t.is(books.counted, input + output);
  t.is(
    (await node.client.call('GET', '/api/quota', { key: node.bootstrap.api_key })).json.quota.used,
    input + output,
  );
});
