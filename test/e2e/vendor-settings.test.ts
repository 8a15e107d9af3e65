import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { ask, booksOf, framesOf, openAiAt, startVendor } from '../support/clients/direct-calls.js';
import { createDatabase } from '../support/database/database.js';
import { eventually } from '../support/clocks/eventually.js';
import { startTestNode } from '../support/servers/node.js';
import { TcpProxy } from '../support/servers/tcp-proxy.js';
import { BedrockServer } from '../support/servers/vendors/bedrock-server.js';
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

test.serial(
  'calls are spread over several keys, and a refused one is named in the log and left out',
  async (t) => {
    const server = await startVendor(t, new OpenAiServer());
    for (const key of ['sk-spread-00000001', 'sk-spread-00000003']) server.keys.add(key);
    const environment = {
      ...openAiAt(server, 'sk-spread-00000001'),
      OPENAI_API_KEYS: 'sk-spread-00000002, sk-spread-00000003',
    };
    const node = await startTestNode(t, { environment });
    const answers = await Promise.all(Array.from({ length: 12 }, () => ask(node, { model: economical })));
    t.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    const after = server.requests.length;
    for (let count = 0; count < 6; count += 1) t.is((await ask(node, { model: economical })).status, 200);
    const uses = (key: string): number =>
      server.requests.slice(after).filter((seen) => seen.key === key).length;
    t.deepEqual(
      ['sk-spread-00000001', 'sk-spread-00000002', 'sk-spread-00000003'].map(uses),
      [3, 0, 3],
      'calls one after the other take turns',
    );
    t.regex(node.log(), /OPENAI_API_KEYS, key 1/);
    t.notRegex(node.log(), /sk-spread/);
    const { rows, counted } = await booksOf(node);
    t.is(
      counted,
      rows.reduce((sum, row) => sum + (row.input_tokens ?? 0) + (row.output_tokens ?? 0), 0),
    );
  },
);

test.serial(
  "a vendor of the operator's vendors file is called, billed and reported like another",
  async (t) => {
    const server = await startVendor(t, new BedrockServer());
    server.signingKeys.set('AKIAEXAMPLE', 'a secret access key');
    const folder = await mkdtemp(join(tmpdir(), 'troupe-vendors-'));
    t.teardown(() => rm(folder, { recursive: true, force: true }));
    const place = async (name: string, text: string): Promise<{ file: string }> => {
      await writeFile(join(folder, name), `${text}\n`);
      return { file: join(folder, name) };
    };
    const vendor = {
      name: 'bedrock-eu',
      kind: 'bedrock',
      region: 'eu-central-1',
      address: server.baseUrl,
      credentials: {
        access_key_id: await place('id', 'AKIAEXAMPLE'),
        secret_access_key: await place('secret', 'a secret access key'),
      },
      models: [{ id: 'amazon.nova-lite-v1:0', like: economical }],
    };
    const { file } = await place('vendors.json', JSON.stringify({ vendors: [vendor] }));
    const node = await startTestNode(t, { environment: { TROUPE_VENDORS_FILE: file } });
    const model = 'bedrock-eu.amazon.nova-lite-v1:0';
    for (const stream of [false, true]) {
      const answer = await ask(node, { model, stream });
      t.is(answer.status, 200, answer.text);
      t.true(answer.text.includes('world'));
    }
    const { rows } = await booksOf(node);
    const billed = server.billed;
    t.is(rows.length, 2);
    t.is(
      rows.reduce((sum, row) => sum + (row.output_tokens ?? 0), 0),
      billed.output,
    );
    const missing = await place(
      'broken.json',
      JSON.stringify({ vendors: [{ ...vendor, region: undefined }] }),
    );
    await t.throwsAsync(startTestNode(t, { environment: { TROUPE_VENDORS_FILE: missing.file } }), {
      message: /TROUPE_VENDORS_FILE .*vendors\.0\.region/,
    });
  },
);

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
