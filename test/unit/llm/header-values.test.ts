import test from 'ava';
import {
  adaptersByVendor,
  CircuitBreakers,
  listVendorModels,
  Observations,
  VendorPools,
  type LlmRequest,
} from '../../../src/llm/index.js';
import { systemTime } from '../../../cluster/index.js';
import { fromMessagesRequest } from '../../../src/models/compat/index.js';
import { AnthropicServer } from '../../support/servers/vendors/anthropic-server.js';
import { call, target } from '../../support/servers/vendors/call-harness.js';
import { OpenAiServer } from '../../support/servers/vendors/openai-server.js';

const gpt = 'openai.gpt-4.1-mini';
const oddKey = 'sk-planted-secret-0001\n';

const seen = () => ({ breakers: new CircuitBreakers(), observations: new Observations() });

test("an own key with a line break is the key's fault, and counts against no model", async (t) => {
  const server = await new OpenAiServer().start();
  t.teardown(() => server.stop());
  const ports = seen();
  const own = target(gpt, server, { id: 'own', payer: 'tenant', reveal: () => oddKey });
  const { outcome, reports } = await call([own], { ports });
  t.is(outcome.error?.failure, 'credential', outcome.error?.message);
  t.regex(outcome.error?.message ?? '', /the key has characters that a header cannot carry/);
  t.is(reports.length, 1);
  t.is(ports.observations.of(gpt, systemTime.monotonicMs()).failureRate, 0);
  const good = target(gpt, server, { id: 'good' });
  t.is((await call([own, good], { ports })).answer.text, 'Hello world');
  t.is(server.requests.length, 1);
});

test("a platform's key with a line break is left out at once, and its next key answers", async (t) => {
  const server = await new OpenAiServer().start();
  t.teardown(() => server.stop());
  const ports = seen();
  const odd = target(gpt, server, { id: 'odd', reveal: () => oddKey });
  const { answer } = await call([odd, target(gpt, server, { id: 'good' })], { ports });
  t.is(answer.text, 'Hello world');
  t.false(ports.breakers.admits('openai', 'odd', systemTime.monotonicMs()));
});

test('what a signer adds is held to the same rule', async (t) => {
  const server = await new OpenAiServer().start();
  t.teardown(() => server.stop());
  const signer = (): Promise<Record<string, string>> => Promise.resolve({ 'x-token': 'a\nb' });
  const { outcome } = await call([target(gpt, server, { signer })]);
  t.is(outcome.error?.failure, 'credential');
  t.regex(outcome.error?.message ?? '', /could not be signed: x-token has characters/);
  t.is(server.requests.length, 0);
});

test("a caller's header that cannot be sent is a bad request, and opens no breaker", async (t) => {
  const server = await new AnthropicServer().start();
  t.teardown(() => server.stop());
  const given = fromMessagesRequest({
    model: 'm',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'hi' }],
  });
  const { wire } = given.request;
  t.not(wire, undefined);
  const request = {
    ...given.request,
    wire: { ...wire, headers: { 'anthropic-beta': 't-\x7f' } },
  } as LlmRequest;
  const ports = seen();
  const model = 'anthropic.claude-haiku-4-5';
  for (let round = 0; round < 6; round += 1) {
    const { outcome, reports } = await call([target(model, server)], { request, ports });
    t.is(outcome.error?.failure, 'request', outcome.error?.message);
    t.regex(outcome.error?.message ?? '', /^anthropic-beta has characters/);
    t.is(reports.length, 1);
  }
  const now = systemTime.monotonicMs();
  t.is(ports.breakers.open(now).size, 0);
  t.is(ports.observations.of(model, now).failureRate, 0);
  t.is(server.requests.length, 0);
});

test('what undici itself refuses could not be sent, and counts against nobody', async (t) => {
  const server = await new OpenAiServer().start();
  t.teardown(() => server.stop());
  class Refusing extends VendorPools {
    code = '';
    override dispatch(...[, , , handler]: Parameters<VendorPools['dispatch']>): boolean {
      handler.onResponseError(Object.assign(new Error('no'), { code: this.code }));
      return true;
    }
  }
  const pools = new Refusing();
  const ports = { ...seen(), pools };
  for (const code of ['UND_ERR_INVALID_ARG', 'UND_ERR_DESTROYED', 'UND_ERR_CLOSED']) {
    pools.code = code;
    for (let round = 0; round < 5; round += 1) {
      const { outcome, reports } = await call([target(gpt, server)], { ports });
      t.is(outcome.error?.failure, 'unavailable', code);
      t.is(outcome.error?.message, 'the request could not be sent');
      t.is(reports.length, 1);
    }
  }
  const now = systemTime.monotonicMs();
  t.is(ports.breakers.open(now).size, 0);
  t.is(ports.observations.of(gpt, now).failureRate, 0);
  pools.code = 'ECONNREFUSED';
  t.is((await call([target(gpt, server)], { ports })).outcome.error?.failure, 'transport');
});

test('a vendor is asked for plain answers, and a compressed one is no reason to ask and pay again', async (t) => {
  const server = await new OpenAiServer().start();
  t.teardown(() => server.stop());
  for (const stream of [true, false]) {
    server.script({ pieces: ['Hello'], headers: { 'content-encoding': 'gzip' } });
    const { outcome, reports } = await call([target(gpt, server)], { request: { stream } });
    t.is(outcome.error?.failure, 'nonsense');
    t.regex(outcome.error?.message ?? '', /compressed as gzip/);
    t.is(reports.length, 1);
    server.script({ pieces: ['Hello'], headers: { 'content-encoding': 'utf-8' } });
    t.is((await call([target(gpt, server)], { request: { stream } })).answer.text, 'Hello');
  }
  const adapter = adaptersByVendor([]).get('openai');
  if (adapter === undefined) throw new Error('OpenAI has an adapter');
  const wanted = { adapter, baseUrl: server.baseUrl, secret: 'k', nowMs: 0, timeoutMs: 10_000 };
  await listVendorModels({ ...wanted, signal: new AbortController().signal });
  t.is(server.requests.length, 5);
  for (const { headers } of server.requests) t.is(headers['accept-encoding'], 'identity');
});

test('the test of a stored key names the key, not the vendor', async (t) => {
  const server = await new OpenAiServer().start();
  t.teardown(() => server.stop());
  const adapter = adaptersByVendor([]).get('openai');
  if (adapter === undefined) throw new Error('OpenAI has an adapter');
  const asked = listVendorModels({
    adapter,
    baseUrl: server.baseUrl,
    secret: oddKey,
    nowMs: 0,
    timeoutMs: 10_000,
    signal: new AbortController().signal,
  });
  await t.throwsAsync(asked, { message: /the key has characters that a header cannot carry/ });
});
