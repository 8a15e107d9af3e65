import { ApiError, createClient } from '@troupe/client';
import test from 'ava';
import { sharedNode } from '../../support/servers/shared-node.js';

const shared = sharedNode(test);

test('a key calls operations of keys, and through an exchanged token those of users', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const troupe = createClient({ baseUrl: client.baseUrl, apiKey: bootstrap.api_key });
  const { quota } = await troupe.quota.read();
  t.true(quota.remaining > 0);
  const made = await troupe.agents.create({
    body: { name: 'made-by-client', llm_config: { model: 'sim.echo' } },
  });
  const { data } = await troupe.agents.get({ path: { id: made.data.id } });
  t.is(data.name, 'made-by-client');
  const { data: found, error } = await troupe.api.GET('/api/agents/{id}', {
    params: { path: { id: made.data.id } },
  });
  t.is(error, undefined);
  t.is(found?.data.id, made.data.id);
});

test('a list is awaited as its first page and iterated over all pages', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const troupe = createClient({ baseUrl: client.baseUrl, apiKey: bootstrap.api_key });
  for (let index = 0; index < 5; index += 1)
    await troupe.sessions.create({ body: { agent_id: bootstrap.agent_id } });
  const page = await troupe.sessions.list({ query: { limit: 2 } });
  t.is(page.data.length, 2);
  t.truthy(page.next_cursor);
  const ids: string[] = [];
  for await (const session of troupe.sessions.list({ query: { limit: 2 } })) ids.push(session.session_id);
  t.is(new Set(ids).size, 5);
  await t.throwsAsync(troupe.sessions.list({ query: { limit: 2 } }).all({ max: 3 }), {
    message: /more than 3/,
  });
});

test('an error has the code, the details and the request id of the answer', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const troupe = createClient({ baseUrl: client.baseUrl, apiKey: bootstrap.api_key });
  const error = await t.throwsAsync(troupe.agents.create({ body: { name: 'not a slug!' } }), {
    instanceOf: ApiError,
  });
  t.is(error?.code, 'validation_error');
  t.is(error?.status, 400);
  t.is(error?.details?.['field'], 'name');
  t.truthy(error?.requestId);
  // Telemetry writes its errors in another form.
  const other = await t.throwsAsync(troupe.telemetry.metrics({ query: { start_date: 'x', end_date: 'y' } }), {
    instanceOf: ApiError,
  });
  t.truthy(other?.code);
  const stranger = createClient({ baseUrl: client.baseUrl, apiKey: 'svc_live_nobody' });
  const refused = await t.throwsAsync(stranger.quota.read(), { instanceOf: ApiError });
  t.is(refused?.code, 'invalid_api_key');
});

test('a creation that is sent again with its key makes one thing', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const troupe = createClient({ baseUrl: client.baseUrl, apiKey: bootstrap.api_key });
  const create = () =>
    troupe.sessions.create({ body: { agent_id: bootstrap.agent_id } }, { idempotencyKey: 'one' });
  const [first, second] = [await create(), await create()];
  t.is(first.data.session_id, second.data.session_id);
});

test("a model's answer streams", async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const troupe = createClient({ baseUrl: client.baseUrl, apiKey: bootstrap.api_key });
  const chunks: string[] = [];
  let total = 0;
  for await (const { chunk, usage } of troupe.llm.stream({ query: 'hello there', model: 'sim.echo' })) {
    chunks.push(chunk);
    total = usage?.total_tokens ?? total;
  }
  t.is(chunks.join(''), 'echo: hello there');
  t.true(chunks.length > 2);
  t.true(total > 0);
});
