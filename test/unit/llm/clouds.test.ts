// Vendors of the vendors file against servers that speak each cloud's own protocol and check each signature.
import {
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
} from '@aws-sdk/client-bedrock-runtime';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import test, { type ExecutionContext } from 'ava';
import {
  builtInModels,
  Catalogue,
  CatalogueError,
  type CloudVendor,
  type LlmRequest,
  parseVendorsFile,
  type Target,
} from '../../../src/llm/index.js';
import { call } from '../../support/servers/vendors/call-harness.js';
import { BedrockServer } from '../../support/servers/vendors/bedrock-server.js';
import { OpenAiServer } from '../../support/servers/vendors/openai-server.js';
import type { VendorServer } from '../../support/servers/vendors/vendor-server.js';

const secrets: Record<string, string> = {
  AZURE_KEY: 'azure-planted-0001',
  AWS_ID: 'AKIAEXAMPLE',
  AWS_SECRET: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};

function vendorsOf(...vendors: readonly object[]): readonly CloudVendor[] {
  return parseVendorsFile('vendors.json', JSON.stringify({ vendors }), {
    known: builtInModels(),
    resolve: (reference) => {
      const name = 'env' in reference ? reference.env : reference.file;
      const value = secrets[name];
      if (value === undefined) throw new Error(`the variable ${name} is missing or empty`);
      return { place: `the variable ${name}`, reveal: () => value };
    },
  });
}

async function started<Server extends VendorServer>(t: ExecutionContext, server: Server): Promise<Server> {
  await server.start();
  t.teardown(() => server.stop());
  return server;
}

function targetsOf({ models, credentials }: CloudVendor): readonly Target[] {
  const all = new Catalogue(models);
  const model = all.byId(models[0]?.id ?? '');
  if (model === undefined) throw new Error('there is no model');
  return credentials.map((credential) => ({ model, credential }));
}

function run(vendor: CloudVendor, request: Partial<LlmRequest> = {}) {
  return call(targetsOf(vendor), { request, ports: { adapterOf: () => vendor.adapter } });
}

const conversation: Partial<LlmRequest> = {
  messages: [
    { role: 'system', content: 'be brief' },
    { role: 'user', content: [{ type: 'text', text: 'say hello' }] },
    {
      role: 'assistant',
      content: [{ type: 'tool_call', id: 'call_1', name: 'weather', arguments: '{"city":"Rome"}' }],
    },
    { role: 'tool', callId: 'call_1', name: 'weather', content: [{ type: 'text', text: 'sunny' }] },
  ],
  tools: [{ name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }],
  maxTokens: 100,
};
const bedrockModel = 'anthropic.claude-sonnet-4-5-20250929-v1:0';
const tool = { id: 'call_a', name: 'weather', args: ['{"city":', '"Rome"}'] };

function bedrockAt(server: BedrockServer): object {
  return {
    name: 'bedrock-eu',
    kind: 'bedrock',
    region: 'eu-central-1',
    address: server.baseUrl,
    credentials: { access_key_id: { env: 'AWS_ID' }, secret_access_key: { env: 'AWS_SECRET' } },
    models: [{ id: bedrockModel, like: 'anthropic.claude-sonnet-4-5' }],
  };
}

test("Amazon's own client reads the test server, and its signatures are taken", async (t) => {
  const server = await started(t, new BedrockServer());
  server.signingKeys.set('AKIAEXAMPLE', secrets['AWS_SECRET'] ?? '');
  const client = (secretAccessKey: string): BedrockRuntimeClient =>
    new BedrockRuntimeClient({
      region: 'eu-central-1',
      endpoint: server.baseUrl,
      requestHandler: new NodeHttpHandler(),
      maxAttempts: 1,
      credentials: { accessKeyId: 'AKIAEXAMPLE', secretAccessKey },
    });
  const input = {
    modelId: bedrockModel,
    messages: [{ role: 'user' as const, content: [{ text: 'two words' }] }],
  };
  const own = client(secrets['AWS_SECRET'] ?? '');
  t.teardown(() => own.destroy());
  const whole = await own.send(new ConverseCommand(input));
  t.is(whole.output?.message?.content?.[0]?.text, 'Hello world');
  server.script({ pieces: ['Hi'], toolCalls: [tool] });
  const streamed = await own.send(new ConverseStreamCommand(input));
  const seen: string[] = [];
  for await (const event of streamed.stream ?? []) seen.push(...Object.keys(event));
  t.deepEqual([seen[0], seen.at(-2), seen.at(-1)], ['messageStart', 'messageStop', 'metadata']);
  const other = client('another secret');
  t.teardown(() => other.destroy());
  await t.throwsAsync(other.send(new ConverseCommand(input)), { name: 'InvalidSignatureException' });
});

for (const stream of [true, false]) {
  test(`Bedrock answers a signed call with tools (${stream ? 'streamed' : 'whole'})`, async (t) => {
    const server = await started(t, new BedrockServer());
    server.signingKeys.set('AKIAEXAMPLE', secrets['AWS_SECRET'] ?? '');
    const [vendor] = vendorsOf(bedrockAt(server));
    if (vendor === undefined) throw new Error('there is one');
    server.script({ thinking: ['let me', ' think'], pieces: ['Hi', ' you'], toolCalls: [tool] });
    const { outcome, answer, reports } = await run(vendor, { ...conversation, stream });
    t.is(outcome.kind, 'completed', outcome.error?.message);
    t.is(answer.text, 'Hi you');
    t.is(answer.stop, 'tool_calls');
    t.like(answer.toolCalls[0], { id: 'call_a', name: 'weather', arguments: '{"city":"Rome"}' });
    t.like(answer.content[0], { type: 'thinking', text: 'let me think', signature: 'sig-of-thought' });
    t.like(reports[0]?.usage, { cacheRead: 7, cacheWrite5m: 1, cacheWrite1h: 2, source: 'reported' });
    const [seen] = server.requests;
    t.is(seen?.path, `/model/${encodeURIComponent(bedrockModel)}/converse${stream ? '-stream' : ''}`);
    t.deepEqual(seen?.body['system'], [{ text: 'be brief' }]);
    t.deepEqual(seen?.body['messages'], [
      { role: 'user', content: [{ text: 'say hello' }] },
      {
        role: 'assistant',
        content: [{ toolUse: { toolUseId: 'call_1', name: 'weather', input: { city: 'Rome' } } }],
      },
      { role: 'user', content: [{ toolResult: { toolUseId: 'call_1', content: [{ text: 'sunny' }] } }] },
    ]);
    t.deepEqual(seen?.body['inferenceConfig'], { maxTokens: 100 });
  });
}

test('a streamed call of a tool without parameters has an empty object as its arguments', async (t) => {
  const server = await started(t, new BedrockServer());
  const [vendor] = vendorsOf({ ...bedrockAt(server), credentials: { api_key: { env: 'AZURE_KEY' } } });
  if (vendor === undefined) throw new Error('there is one');
  server.script({ toolCalls: [{ id: 'call_a', name: 'now', args: [''] }] });
  const { answer } = await run(vendor, { ...conversation, stream: true });
  t.like(answer.toolCalls[0], { id: 'call_a', name: 'now', arguments: '{}' });
});

test('a conversation with calls of tools is answered where no tool may be called', async (t) => {
  const server = await started(t, new BedrockServer());
  const [vendor] = vendorsOf({ ...bedrockAt(server), credentials: { api_key: { env: 'AZURE_KEY' } } });
  if (vendor === undefined) throw new Error('there is one');
  const { tools: _tools, ...undeclared } = conversation;
  for (const request of [{ ...conversation, toolChoice: 'none' as const }, undeclared]) {
    const { outcome } = await run(vendor, request);
    t.is(outcome.kind, 'completed', outcome.error?.message);
    const { body } = server.requests.at(-1) ?? t.fail();
    t.is(body['toolConfig'], undefined, 'the model could call a tool');
    t.deepEqual(body['messages'], [
      {
        role: 'user',
        content: [
          { text: 'say hello' },
          { text: 'The tool weather, called with {"city":"Rome"}, answered:' },
          { text: 'sunny' },
        ],
      },
    ]);
  }
  const said = { type: 'text' as const, text: 'Let me look.' };
  const failed: LlmRequest['messages'] = (conversation.messages ?? []).map((message) => {
    if (message.role === 'tool') return { ...message, isError: true };
    return message.role === 'assistant' ? { ...message, content: [said, ...message.content] } : message;
  });
  await run(vendor, { ...undeclared, messages: failed });
  const { body } = server.requests.at(-1) ?? t.fail();
  t.deepEqual((body['messages'] as unknown[]).slice(1), [
    { role: 'assistant', content: [{ text: 'Let me look.' }] },
    {
      role: 'user',
      content: [{ text: 'The tool weather, called with {"city":"Rome"}, failed:' }, { text: 'sunny' }],
    },
  ]);
});

test('marks of the prompt cache follow what they keep, and exact budgets of thoughts are sent', async (t) => {
  const server = await started(t, new BedrockServer());
  const [vendor] = vendorsOf({ ...bedrockAt(server), credentials: { api_key: { env: 'AZURE_KEY' } } });
  if (vendor === undefined) throw new Error('there is one');
  const models = new Catalogue(vendor.models).withFamilies(new Map([[vendor.name, vendor.family]]));
  const model = models.byId(vendor.models[0]?.id ?? '') ?? t.fail();
  const targets = vendor.credentials.map((credential) => ({ model, credential }));
  const request = {
    ...conversation,
    cachePrompt: true,
    reasoningEffort: 'low',
    thinkingBudget: 1024,
  } as const;
  await call(targets, { request, ports: { adapterOf: () => vendor.adapter } });
  const { body } = server.requests[0] ?? t.fail();
  const mark = { cachePoint: { type: 'default' } };
  t.deepEqual(body['system'], [{ text: 'be brief' }, mark]);
  t.deepEqual((body['toolConfig'] as { tools: unknown[] }).tools.at(-1), mark);
  t.deepEqual((body['messages'] as { content: unknown[] }[]).at(-1)?.content.at(-1), mark);
  t.deepEqual(body['additionalModelRequestFields'], { thinking: { type: 'enabled', budget_tokens: 1024 } });
});

test('a stream of Bedrock that fails, breaks off or is no stream fails the attempt by its class', async (t) => {
  const server = await started(t, new BedrockServer());
  const [vendor] = vendorsOf({ ...bedrockAt(server), credentials: { api_key: { env: 'AZURE_KEY' } } });
  if (vendor === undefined) throw new Error('there is one');
  const pieces = ['one', ' two'];
  const failureOf = async (): Promise<unknown[]> => {
    const { outcome } = await run(vendor);
    return [outcome.kind, outcome.error?.failure];
  };
  server.byDefault({ pieces, failAfter: 1 });
  t.deepEqual(await failureOf(), ['failed', 'overload']);
  server.byDefault({ pieces, cutAfter: 1 });
  t.deepEqual(await failureOf(), ['failed', 'transport']);
  server.byDefault({ garbage: 'this is not a stream of binary messages' });
  t.deepEqual(await failureOf(), ['failed', 'nonsense']);
  server.byDefault({
    status: 429,
    message: 'Too many tokens, please wait',
    headers: { 'retry-after': '3600' },
  });
  t.deepEqual(await failureOf(), ['failed', 'rate']);
  server.byDefault({ status: 400, message: 'Input is too long: prompt is too long' });
  t.deepEqual(await failureOf(), ['failed', 'context_overflow']);
  t.is(server.requests[0]?.headers.authorization, 'Bearer azure-planted-0001');
});

test('a key of Bedrock that is wrong is the credential’s failure, and no error shows it', async (t) => {
  const server = await started(t, new BedrockServer());
  server.signingKeys.set('AKIAEXAMPLE', 'another secret');
  const [vendor] = vendorsOf(bedrockAt(server));
  if (vendor === undefined) throw new Error('there is one');
  const { outcome, reports } = await run(vendor);
  t.is(outcome.error?.failure, 'credential');
  t.is(outcome.error?.code, 'InvalidSignatureException');
  t.false(JSON.stringify(reports).includes('wJalrXUtnFEMI'));
});

for (const version of [undefined, '2024-10-21']) {
  test(`Azure OpenAI is asked by deployment (version ${version ?? 'in the path'})`, async (t) => {
    const server = await started(t, new OpenAiServer());
    const [vendor] = vendorsOf({
      name: 'azure-eu',
      kind: 'azure_openai',
      address: server.origin,
      ...(version !== undefined && { api_version: version }),
      credentials: { api_key: { env: 'AZURE_KEY' } },
      models: [{ id: 'gpt-4o', vendor_model: 'our deployment', like: 'openai.gpt-4.1-mini' }],
    });
    if (vendor === undefined) throw new Error('there is one');
    const { answer, outcome } = await run(vendor);
    t.is(answer.text, 'Hello world', outcome.error?.message);
    const [seen] = server.requests;
    t.is(
      seen?.path,
      version === undefined
        ? '/openai/v1/chat/completions'
        : '/openai/deployments/our%20deployment/chat/completions?api-version=2024-10-21',
    );
    t.is(seen?.headers['api-key'], 'azure-planted-0001');
    t.is(seen?.headers.authorization, undefined);
    t.is(seen?.body['model'], 'our deployment');
    t.is(
      vendor.models[0]?.price.input_per_mtok,
      builtInModels().find(({ id }) => id === 'openai.gpt-4.1-mini')?.price.input_per_mtok,
    );
  });
}

test('a vendors file that cannot be used is refused with its place', (t) => {
  const server = { baseUrl: 'http://127.0.0.1:1' } as BedrockServer;
  const bedrock = bedrockAt(server);
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ ...bedrock, name: 'openai' }, /the name openai belongs to a built-in vendor/],
    [{ ...bedrock, kind: 'watson' }, /vendors\.0\.kind/],
    [{ ...bedrock, credentials: { access_key_id: { env: 'AWS_ID' } } }, /vendors\.0\.credentials/],
    [
      { ...bedrock, credentials: { api_key: { env: 'NOWHERE' } } },
      /bedrock-eu: the variable NOWHERE is missing/,
    ],
    [{ ...bedrock, credentials: { api_key: 'a secret in the file' } }, /vendors\.0\.credentials/],
    [
      { ...bedrock, models: [{ id: 'x', like: 'nobody.knows' }] },
      /there is no model nobody\.knows to be like/,
    ],
    [{ ...bedrock, regoin: 'x' }, /regoin/],
  ];
  for (const [vendor, message] of cases) {
    const error = t.throws(() => vendorsOf(vendor), { instanceOf: CatalogueError, message });
    t.false(error?.message.includes('a secret in the file') ?? true);
  }
  t.throws(() => vendorsOf(bedrock, bedrock), { message: /two vendors have the name bedrock-eu/ });
  secrets['no account'] = '{"client_email":"x"}';
  const vertex = { name: 'v', kind: 'vertex', project: 'p', location: 'global', models: ['m'] };
  t.throws(() => vendorsOf({ ...vertex, credentials: { service_account: { file: 'no account' } } }), {
    message: /private_key.*Google service account/,
  });
});
