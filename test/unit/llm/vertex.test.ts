// Vertex AI against servers that speak its protocol, and its token service.
import test, { type ExecutionContext } from 'ava';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  builtInModels,
  Catalogue,
  CircuitBreakers,
  type CloudVendor,
  type LlmRequest,
  parseVendorsFile,
} from '../../../src/llm/index.js';
import { call } from '../../support/servers/vendors/call-harness.js';
import type { VendorServer } from '../../support/servers/vendors/vendor-server.js';
import {
  ServiceAccount,
  VertexClaudeServer,
  VertexGeminiServer,
} from '../../support/servers/vendors/vertex-server.js';

const secrets: Record<string, string> = {};

function vendorsOf(...vendors: readonly object[]): readonly CloudVendor[] {
  return parseVendorsFile('vendors.json', JSON.stringify({ vendors }), {
    known: builtInModels(),
    resolve: (reference) => {
      const name = 'env' in reference ? reference.env : reference.file;
      return { place: `the file ${name}`, reveal: () => secrets[name] ?? '' };
    },
  });
}

async function started<Server extends VendorServer>(t: ExecutionContext, server: Server): Promise<Server> {
  await server.start();
  t.teardown(() => server.stop());
  return server;
}

function run(
  { models, credentials, adapter }: CloudVendor,
  request: Partial<LlmRequest> = {},
  more: object = {},
) {
  const model = new Catalogue(models).byId(models[0]?.id ?? '');
  if (model === undefined) throw new Error('there is no model');
  const targets = credentials.map((credential) => ({ model, credential }));
  return call(targets, { request, ports: { adapterOf: () => adapter, ...more } });
}

/** A token service on loopback. */
async function tokenService(
  t: ExecutionContext,
  account: ServiceAccount,
  faults: (number | 'cut')[] = [],
): Promise<string> {
  const server = createServer((request, response) => {
    const read = async (): Promise<void> => {
      const fault = faults.shift();
      if (fault === 'cut') {
        response.destroy();
        return;
      }
      if (fault !== undefined) {
        response.writeHead(fault).end('{}');
        return;
      }
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const token = await account.tokenFor(body, address);
      response.writeHead(token === undefined ? 400 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(token ?? { error: 'invalid_grant' }));
    };
    read().catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
  return address;
}

async function vertexAt(
  t: ExecutionContext,
  publisher: 'google' | 'anthropic',
  server: VendorServer,
  account: ServiceAccount,
  { faults = [], model }: { readonly faults?: (number | 'cut')[]; readonly model?: object } = {},
): Promise<CloudVendor> {
  const reference = `${publisher}-${t.title}`;
  secrets[reference] = account.keyFile(await tokenService(t, account, faults));
  const [vendor] = vendorsOf({
    name: 'vertex',
    kind: 'vertex',
    publisher,
    project: 'project-1',
    location: 'europe-west4',
    address: server.origin,
    credentials: { service_account: { file: reference } },
    models: [model ?? (publisher === 'google' ? 'gemini-2.5-pro' : 'claude-sonnet-4-5@20250929')],
  });
  if (vendor === undefined) throw new Error('there is one');
  return vendor;
}

for (const stream of [true, false]) {
  test(`Vertex AI answers with the models of both publishers (${stream ? 'streamed' : 'whole'})`, async (t) => {
    for (const publisher of ['google', 'anthropic'] as const) {
      const account = new ServiceAccount();
      const server = await started(
        t,
        publisher === 'google' ? new VertexGeminiServer() : new VertexClaudeServer(),
      );
      const vendor = await vertexAt(t, publisher, server, account);
      const first = await run(vendor, { stream });
      t.is(first.answer.text, 'Hello world', first.outcome.error?.message);
      const many = await Promise.all([run(vendor, { stream }), run(vendor, { stream })]);
      t.true(many.every(({ answer }) => answer.text === 'Hello world'));
      t.is(account.tokens.size, 1, 'one token serves all calls until it ends');
      t.is(server.requests[0]?.key, 'ya29.token-1');
      account.expiresInSeconds = 30;
    }
  });
}

test('calls that begin together fetch one token, and a token near its end is renewed', async (t) => {
  const account = new ServiceAccount();
  account.expiresInSeconds = 30;
  const server = await started(t, new VertexGeminiServer());
  const vendor = await vertexAt(t, 'google', server, account);
  await Promise.all([run(vendor), run(vendor), run(vendor)]);
  t.is(account.tokens.size, 1);
  await run(vendor);
  t.is(account.tokens.size, 2);
});

test('an account without a token is the credential’s failure, told without the key', async (t) => {
  const account = new ServiceAccount();
  const server = await started(t, new VertexGeminiServer());
  secrets['wrong'] = new ServiceAccount().keyFile(await tokenService(t, account));
  const [vendor] = vendorsOf({
    name: 'vertex',
    kind: 'vertex',
    project: 'project-1',
    location: 'europe-west4',
    address: server.origin,
    credentials: { service_account: { file: 'wrong' } },
    models: ['gemini-2.5-pro'],
  });
  if (vendor === undefined) throw new Error('there is one');
  const { outcome } = await run(vendor);
  t.is(outcome.error?.failure, 'credential');
  t.false(JSON.stringify(outcome.error).includes('PRIVATE KEY'));
  t.is(server.requests.length, 0);
});

for (const [fault, failure] of [
  [503, 'overload'],
  [429, 'rate'],
  ['cut', 'transport'],
] as const) {
  test(`a token service that fails for a moment (${fault}) is no refused key: the next attempt answers`, async (t) => {
    const account = new ServiceAccount();
    const server = await started(t, new VertexGeminiServer());
    const vendor = await vertexAt(t, 'google', server, account, { faults: [fault] });
    const told: string[] = [];
    const breakers = new CircuitBreakers();
    const onKeyRefused = ({ id }: { readonly id: string }) => void told.push(id);
    const { answer, reports, outcome } = await run(vendor, {}, { breakers, onKeyRefused });
    t.is(reports[0]?.error?.failure, failure);
    t.is(answer.text, 'Hello world', outcome.error?.message);
    t.deepEqual(told, []);
    t.is(breakers.open(0).size, 0);
  });
}

test('a model of the kind embedding answers by the form of Vertex AI', async (t) => {
  const server = await started(t, new VertexGeminiServer());
  const model = { id: 'gemini-embedding-001', like: 'google.gemini-embedding-001' };
  const vendor = await vertexAt(t, 'google', server, new ServiceAccount(), { model });
  const embedding = { inputs: ['two words', 'and three more'], dimensions: 3, encoding: 'float' as const };
  const { outcome, events, reports } = await run(vendor, { messages: [], stream: false, embedding });
  t.is(outcome.kind, 'completed', outcome.error?.message);
  t.deepEqual(
    events.filter(({ type }) => type === 'embedding'),
    [0, 1].map((index) => ({ type: 'embedding', index, vector: [index, 0.25, 0.25] })),
  );
  t.like(reports[0]?.usage, { inputUncached: 5, source: 'reported' });
  const [seen] = server.requests;
  t.is(
    seen?.path,
    '/v1/projects/project-1/locations/europe-west4/publishers/google/models/gemini-embedding-001:predict',
  );
  t.deepEqual(seen?.body, {
    instances: [{ content: 'two words' }, { content: 'and three more' }],
    parameters: { autoTruncate: false, outputDimensionality: 3 },
  });
});
