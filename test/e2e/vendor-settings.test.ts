import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { ask, booksOf, framesOf, openAiAt, startVendor } from '../support/clients/direct-calls.js';
import { createDatabase } from '../support/database/database.js';
import { eventually } from '../support/clocks/eventually.js';
import { startTestNode } from '../support/servers/node.js';
import { TcpProxy } from '../support/servers/tcp-proxy.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const economical = 'openai.gpt-4.1-mini';

// A node for each test: settings are tried, one is stopped, and one loses its store.
test.serial("compatible vendors and models from the operator's file can be called", async (t) => {
  const server = await startVendor(t, new OpenAiServer());
  const folder = await mkdtemp(join(tmpdir(), 'troupe-models-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'models.json');
  const entry = {
    id: 'local.large',
    vendor: 'local',
    tier: 'flagship',
    context_window: 1000,
    max_output_tokens: 100,
    price: { input_per_mtok: 1, output_per_mtok: 2 },
    capabilities: ['text'],
  };
  await writeFile(file, JSON.stringify([entry]));
  const vendor = { name: 'local', base_url: server.baseUrl, models: ['small'] };
  const environment = {
    OPENAI_COMPATIBLE_VENDORS: JSON.stringify([vendor]),
    TROUPE_MODELS_FILE: file,
  };
  const node = await startTestNode(t, { environment });
  for (const model of ['local.small', 'local.large']) {
    const answer = await ask(node, { model });
    t.is(answer.json?.response, 'Hello world', answer.text);
    t.is(answer.json.provider, 'local');
  }
  t.true((await ask(node, { model: 'local.large' })).json.cost > 0);
  const { json } = await node.client.call('GET', '/api/v3/llm/models', { key: node.bootstrap.api_key });
  t.true(
    json.data.some(
      ({ id, available }: typeof entry & { available: boolean }) => id === entry.id && available,
    ),
  );
  await t.throwsAsync(startTestNode(t, { environment: { TROUPE_MODELS_FILE: join(folder, 'none.json') } }), {
    message: /TROUPE_MODELS_FILE/,
  });
});

test.serial('a stopping node records a running call before it ends', async (t) => {
  const server = await startVendor(t, new OpenAiServer());
  const node = await startTestNode(t, { environment: openAiAt(server) });
  server.script({ pieces: ['one', ' two'], hangAfter: 1 });
  const answer = ask(node, { model: economical, stream: true }).then(framesOf, () => []);
  await eventually(() => server.requests[0]?.billed.output === 1);
  await node.node.stop(AbortSignal.timeout(200));
  await answer;
  const { rows, counted } = await booksOf(node);
  t.not(rows[0]?.outcome, null);
  t.is(counted, (rows[0]?.input_tokens ?? 0) + (rows[0]?.output_tokens ?? 0));
});

test.serial('while the store is unavailable calls get 503 before a vendor request', async (t) => {
  const server = await startVendor(t, new OpenAiServer());
  const database = await createDatabase(t);
  const proxy = await TcpProxy.before(database.url);
  t.teardown(() => proxy.close());
  const node = await startTestNode(t, { databaseUrl: proxy.url, environment: openAiAt(server) });
  t.is((await ask(node, { model: economical })).status, 200);
  proxy.mode = 'down';
  for (const stream of [false, true]) {
    const refused = await ask(node, { model: economical, stream });
    t.is(refused.status, 503, refused.text);
    t.is(refused.json.error, 'service_unavailable');
    t.true(Number(refused.headers.get('retry-after')) >= 1);
  }
  t.is(server.requests.length, 1);
  proxy.mode = 'open';
  await eventually(async () => (await ask(node, { model: economical })).status === 200, {
    timeoutMs: 30_000,
  });
});
