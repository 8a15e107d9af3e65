// Vectors through OpenAI's own client, from each vendor that makes them.
import test from 'ava';
import OpenAI from 'openai';
import {
  booksOf,
  openAiAt,
  platformKey,
  setPlan,
  startVendor,
  sumOf,
} from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { operatorToken, type TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { GeminiServer } from '../support/servers/vendors/gemini-server.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';
import type { VendorServer } from '../support/servers/vendors/vendor-server.js';

const openAi = new OpenAiServer();
const router = new OpenAiServer('openrouter');
const gemini = new GeminiServer();
const local = new OpenAiServer();
const vendors: readonly VendorServer[] = [openAi, router, gemini, local];
test.serial.beforeEach('the vendors forget', () => vendors.forEach((server) => server.forget()));
const shared = sharedNode(test, async (atEnd) => {
  for (const server of vendors) await startVendor(atEnd, server);
  const embedder = { id: 'nomic', kind: 'embedding', dimensions: 4, capabilities: ['embeddings'] };
  return {
    environment: {
      ...openAiAt(openAi),
      OPENROUTER_API_KEY: platformKey,
      OPENROUTER_BASE_URL: router.baseUrl,
      GEMINI_API_KEY: platformKey,
      GEMINI_BASE_URL: gemini.baseUrl,
      OPENAI_COMPATIBLE_VENDORS: JSON.stringify([
        { name: 'ollama', base_url: local.baseUrl, models: [embedder] },
      ]),
    },
  };
});

function client({ node, bootstrap }: TenantNode): OpenAI {
  return new OpenAI({ apiKey: bootstrap.api_key, baseURL: `${node.baseUrl}/v1`, maxRetries: 0 });
}

const small = 'text-embedding-3-small';

test.serial(
  'the vectors of every vendor come in the order of the inputs, and the books equal the bill',
  async (t) => {
    const node = await shared.tenant(t);
    const { embeddings } = client(node);
    const input = ['one two', 'three', 'four five six'];
    const expected = [0, 1, 2].map((first) => [first, 0.25, 0.25, 0.25]);
    for (const [model, server, priced] of [
      [small, openAi, true],
      ['openrouter.openai/text-embedding-3-small', router, true],
      ['google.gemini-embedding-001', gemini, true],
      ['ollama.nomic', local, false],
    ] as const) {
      const answer = await embeddings.create({ model, input });
      t.deepEqual(
        answer.data.map(({ embedding }) => [...embedding]),
        expected,
        model,
      );
      t.deepEqual(
        answer.data.map(({ index }) => index),
        [0, 1, 2],
      );
      t.is(server.requests.length, 1);
      const { rows } = await booksOf(node);
      const row = rows.at(-1);
      t.like(row, { outcome: 'completed', output_tokens: 0 });
      t.is(answer.usage.prompt_tokens, row?.input_tokens ?? -1);
      t.is(answer.usage.total_tokens, row?.input_tokens ?? -1);
      // Google's reply tells no usage.
      t.is(row?.usage_source, server === gemini ? 'estimated' : 'reported');
      if (server !== gemini) t.deepEqual(sumOf(rows.slice(-1)), server.billed);
      const cost = await node.client.call('GET', '/api/billing/usage', { key: node.bootstrap.api_key });
      if (priced) t.true(cost.json.data.total.cost > 0);
    }
    const { rows, counted } = await booksOf(node);
    t.is(counted, sumOf(rows).input);
    t.is(openAi.requests[0]?.body['encoding_format'], 'base64', 'as the client asks by itself');
    t.is(local.requests[0]?.body['encoding_format'], undefined, 'the smallest servers refuse it');
  },
);

test.serial(
  'numbers or base64, the length, and tokens reach the vendor as the caller wants them',
  async (t) => {
    const node = await shared.tenant(t);
    const { embeddings } = client(node);
    const numbers = await embeddings.create({
      model: small,
      input: [[1, 2], [3]],
      dimensions: 2,
      encoding_format: 'float',
      user: 'ada',
    });
    t.deepEqual(
      numbers.data.map(({ embedding }) => embedding),
      [
        [0, 0.25],
        [1, 0.25],
      ],
    );
    t.deepEqual(openAi.requests[0]?.body, {
      model: small,
      input: [[1, 2], [3]],
      dimensions: 2,
      encoding_format: 'float',
    });
    await embeddings.create({ model: small, input: [1, 2, 3] });
    t.deepEqual(openAi.requests[1]?.body['input'], [[1, 2, 3]]);
    const packed = await node.client.call('POST', '/v1/embeddings', {
      key: node.bootstrap.api_key,
      body: {
        model: 'google.gemini-embedding-001',
        input: 'hi',
        encoding_format: 'base64',
        dimensions: 3,
        user: 'a',
      },
    });
    t.is(packed.headers.get('x-troupe-ignored'), 'user');
    t.is(packed.headers.get('x-troupe-paid-by'), 'platform');
    const bytes = Buffer.from(packed.json.data[0].embedding, 'base64');
    t.deepEqual(
      [0, 4, 8].map((at) => bytes.readFloatLE(at)),
      [0, 0.25, 0.25],
    );
    t.deepEqual(gemini.requests[0]?.body['requests'], [
      { model: 'models/gemini-embedding-001', content: { parts: [{ text: 'hi' }] }, outputDimensionality: 3 },
    ]);
  },
);

test.serial(
  'the simulated vendor makes the same vector of the same text, and near ones of near texts',
  async (t) => {
    const node = await shared.tenant(t);
    const { embeddings } = client(node);
    const input = ['the cat sat on the mat', 'the cat sat on a mat', 'quarterly revenue forecast'];
    const ask = async (more: object = {}) =>
      (await embeddings.create({ model: 'sim.embed', input, ...more })).data.map(({ embedding }) => [
        ...embedding,
      ]);
    const [first, again, floats] = [await ask(), await ask(), await ask({ encoding_format: 'float' })];
    t.deepEqual(first, again);
    t.deepEqual(first, floats, 'base64 and numbers are the same');
    const near = (one: readonly number[] = [], other: readonly number[] = []): number =>
      one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0);
    t.is(first[0]?.length, 256);
    t.true(Math.abs(near(first[0], first[0]) - 1) < 1e-6);
    t.true(near(first[0], first[1]) > near(first[0], first[2]) + 0.3);
    t.is((await ask({ dimensions: 33 }))[0]?.length, 33);
    const { rows, counted } = await booksOf(node);
    t.is(rows.length, 4);
    t.is(counted, 4 * 15);
  },
);

const wrong: readonly (readonly [name: string, body: object, field: RegExp])[] = [
  ['no input', { model: small }, /^input$/],
  ['no model', { input: 'x' }, /^model$/],
  ['an empty text', { model: small, input: '' }, /^input$/],
  ['an empty list', { model: small, input: [] }, /^input$/],
  ['an object', { model: small, input: { text: 'x' } }, /^input$/],
  ['a mixed list', { model: small, input: ['x', 1] }, /^input\.1$/],
  ['an empty text in a list', { model: small, input: ['x', ''] }, /^input\.1$/],
  ['a broken token', { model: small, input: [1, 1.5] }, /^input\.1$/],
  ['a negative token', { model: small, input: [[1], [-1]] }, /^input\.1\.0$/],
  ['an empty list of tokens', { model: small, input: [[1], []] }, /^input\.1$/],
  ['too many inputs', { model: small, input: Array.from({ length: 2_049 }, () => 'x') }, /^input$/],
  ['too many tokens', { model: small, input: Array.from({ length: 8_193 }, () => 1) }, /^input$/],
  ['another encoding', { model: small, input: 'x', encoding_format: 'hex' }, /^encoding_format$/],
  ['no dimensions', { model: small, input: 'x', dimensions: 0 }, /^dimensions$/],
  ['too many dimensions', { model: small, input: 'x', dimensions: 1_537 }, /^dimensions$/],
  ['one length', { model: 'text-embedding-ada-002', input: 'x', dimensions: 5 }, /^dimensions$/],
  ['an unknown field', { model: small, input: 'x', dimension: 5 }, /^dimension$/],
  ['a model for answers', { model: 'gpt-4.1-mini', input: 'x' }, /^model$/],
  ['auto', { model: 'auto', input: 'x' }, /^model$/],
  ['an unknown model', { model: 'text-embedding-4', input: 'x' }, /^model$/],
  ['tokens for texts', { model: 'google.gemini-embedding-001', input: [1] }, /^input$/],
  [
    'too many for the vendor',
    { model: 'google.gemini-embedding-001', input: Array.from({ length: 101 }, () => 'x') },
    /^input$/,
  ],
  [
    'more numbers than this node makes',
    {
      model: 'sim.embed',
      input: Array.from({ length: 25 }, () => 'x'),
      dimensions: 16_384,
      encoding_format: 'base64',
    },
    /^input$/,
  ],
  [
    'more numbers than an answer has',
    { model: 'text-embedding-3-large', input: Array.from({ length: 200 }, () => 'x') },
    /^input$/,
  ],
];

test.serial('wrong input is refused with the name of the field, and nothing is asked or spent', async (t) => {
  const node = await shared.tenant(t);
  for (const [name, body, field] of wrong) {
    const answer = await node.client.call('POST', '/v1/embeddings', { key: node.bootstrap.api_key, body });
    t.is(answer.status, 400, `${name}: ${answer.text}`);
    t.regex(String(answer.json.error.param), field, name);
    t.is(answer.json.error.type, 'invalid_request_error');
  }
  const chat = await node.client.call('POST', '/v1/chat/completions', {
    key: node.bootstrap.api_key,
    body: { model: small, messages: [{ role: 'user', content: 'x' }] },
  });
  t.is(chat.json.error.code, 'invalid_model');
  t.true(vendors.every(({ requests }) => requests.length === 0));
  t.deepEqual(await booksOf(node), { rows: [], counted: 0 });
});

test.serial(
  'the month is checked, failures cost what the vendor bills, and a caller that leaves ends the call',
  async (t) => {
    const node = await shared.tenant(t);
    const { embeddings } = client(node);
    const asked = { model: small, input: 'one two three four' };
    openAi.script({ status: 400, message: 'no such thing' });
    await t.throwsAsync(embeddings.create(asked), { instanceOf: OpenAI.InternalServerError });
    openAi.script({ missingVectors: 1 }, { missingVectors: 1 });
    const broken = await t.throwsAsync(embeddings.create(asked), { instanceOf: OpenAI.InternalServerError });
    t.is(broken.code, 'provider_error');
    openAi.script({ hangBeforeHeaders: true });
    const leaving = new AbortController();
    const left = embeddings.create(asked, { signal: leaving.signal });
    const before = openAi.requests.length;
    await eventually(() => openAi.requests.length > before);
    leaving.abort();
    await t.throwsAsync(left, { instanceOf: OpenAI.APIUserAbortError });
    const request = openAi.requests.at(-1);
    await eventually(() => request?.leftAtMs !== undefined);
    const rows = await eventually(async () => {
      const { rows } = await booksOf(node);
      return rows.at(-1)?.outcome === null ? undefined : rows;
    });
    t.like(rows.at(-1), { outcome: 'cancelled', usage_source: 'estimated', output_tokens: 0 });
    t.is((await booksOf(node)).counted, sumOf(rows).input);
    await setPlan(node, operatorToken, 'enterprise', { monthly_tokens: 0 });
    const quota = await t.throwsAsync(embeddings.create(asked), { instanceOf: OpenAI.RateLimitError });
    t.is(quota.code, 'quota_exceeded');
  },
);

test.serial('models that make vectors are listed as such, and auto never chooses one', async (t) => {
  const node = await shared.tenant(t);
  const { json } = await node.client.call('GET', '/api/v3/llm/models', { key: node.bootstrap.api_key });
  const model = json.data.find(({ id }: { id: string }) => id === 'openai.text-embedding-3-small');
  t.like(model, { kind: 'embedding', dimensions: 1_536, available: true });
  t.is(json.data.find(({ id }: { id: string }) => id === 'sim.echo').kind, 'chat');
  const auto = await node.client.call('POST', '/api/v3/llm/public/call', {
    key: node.bootstrap.api_key,
    body: { query: 'Hi', provider: 'ollama' },
  });
  t.is(auto.status, 400, auto.text);
});
