import test from 'ava';
import {
  CircuitBreakers,
  KeyLoads,
  Observations,
  type VendorError,
  VendorKeys,
} from '../../../src/llm/index.js';
import { systemTime } from '../../../cluster/index.js';
import { breakerLimits } from '../../../src/llm/routing/circuit-breakers.js';
import { observedModelsMax } from '../../../src/llm/routing/observations.js';
import { call, credential, target } from '../../support/servers/vendors/call-harness.js';
import { OpenAiServer } from '../../support/servers/vendors/openai-server.js';

const keys = ['a', 'b', 'c'].map((id) => credential('openai', 'http://x', { id }));
const idsOf = (all: readonly { readonly id: string }[]): string => all.map(({ id }) => id).join('');

test('the key with the fewest calls comes first, and equals take turns', (t) => {
  const loads = new KeyLoads();
  const [a, b, c] = keys;
  if (a === undefined || b === undefined || c === undefined) throw new Error('there are three');
  t.is(idsOf(loads.inOrder(keys)), 'abc');
  loads.begin(a);
  t.is(idsOf(loads.inOrder(keys)), 'bca');
  loads.begin(b);
  loads.begin(b);
  t.is(idsOf(loads.inOrder(keys)), 'cab');
  for (const key of [a, b, b]) loads.end(key);
  t.is(idsOf(loads.inOrder(keys)), 'cab', 'the longest rested comes first');
});

test('a key of a tenant is known while it is in use, since each new secret has a new id', (t) => {
  const loads = new KeyLoads();
  const [platform] = keys;
  if (platform === undefined) throw new Error('there are three');
  for (let version = 0; version < 100; version += 1) {
    const own = credential('openai', 'http://x', { id: `tenant:s:${version}`, payer: 'tenant' });
    for (const key of [own, own, platform]) loads.begin(key);
    t.is(loads.size, 2);
    for (const key of [own, platform, own]) loads.end(key);
  }
  t.is(loads.size, 1);
});

test('several keys of a vendor have ids of their own, and one that is written twice counts once', (t) => {
  const apiKeys = ['k1', 'k2', 'k1'].map((value, index) => ({ place: `key ${index + 1}`, value }));
  const found = new VendorKeys({ openai: { apiKeys } }, []).platform('openai');
  t.deepEqual(
    found.map(({ reveal }) => reveal()),
    ['k1', 'k2'],
  );
  t.is(new Set(found.map(({ id }) => id)).size, 2);
  t.false(JSON.stringify(found).includes('k1"'));
  const [only] = new VendorKeys({ openai: { apiKeys: apiKeys.slice(0, 1) } }, []).platform('openai');
  t.is(only?.id, 'platform:openai');
});

test('a refused key opens its breaker at once, tells it once, and the next key answers', async (t) => {
  const server = await new OpenAiServer().start();
  t.teardown(() => server.stop());
  server.keys.add('good');
  const bad = target('openai.gpt-4.1-mini', server, { id: 'bad', reveal: () => 'wrong' });
  const good = target('openai.gpt-4.1-mini', server, { id: 'good', reveal: () => 'good' });
  const breakers = new CircuitBreakers();
  const told: string[] = [];
  const ports = {
    breakers,
    onKeyRefused: ({ id }: { readonly id: string }, { failure }: VendorError) =>
      void told.push(`${id} ${failure}`),
  };
  for (let round = 0; round < 3; round += 1) {
    const { answer } = await call([bad, good], { ports });
    t.is(answer.text, 'Hello world');
  }
  t.is(server.requests.filter(({ key }) => key === 'wrong').length, 1);
  t.deepEqual(told, ['bad credential']);
});

test("a tenant's own key that is refused is not left out: its owner is to see it", async (t) => {
  const server = await new OpenAiServer().start();
  t.teardown(() => server.stop());
  server.keys.add('good');
  const own = target('openai.gpt-4.1-mini', server, { id: 'own', payer: 'tenant', reveal: () => 'wrong' });
  const breakers = new CircuitBreakers();
  await call([own], { ports: { breakers } });
  t.true(breakers.admits('openai', 'own', 1e9));
  const { outcome } = await call([own], { ports: { breakers } });
  t.is(outcome.error?.failure, 'credential');
});

test('a key that may not use one model stays in use for the others', async (t) => {
  const server = await new OpenAiServer().start();
  t.teardown(() => server.stop());
  const error = {
    message: 'Project p does not have access to model `gpt-4.1`',
    type: 'invalid_request_error',
    code: 'model_not_found',
  };
  server.errorBody = () => ({ error });
  server.decide = ({ body }) => (body['model'] === 'gpt-4.1' ? { status: 403 } : undefined);
  const refused = target('openai.gpt-4.1', server);
  const allowed = target('openai.gpt-4.1-mini', server);
  const breakers = new CircuitBreakers();
  const observations = new Observations();
  const told: string[] = [];
  const ports = {
    breakers,
    observations,
    onKeyRefused: ({ id }: { readonly id: string }) => void told.push(id),
  };
  for (let round = 0; round < breakerLimits.failuresMax; round += 1) {
    const alone = await call([refused], { ports });
    t.is(alone.outcome.error?.failure, 'model_refused');
  }
  const chain = await call([refused, allowed], { ports });
  t.is(chain.answer.text, 'Hello world', chain.outcome.error?.message);
  t.is((await call([allowed], { ports })).answer.text, 'Hello world');
  t.deepEqual([...breakers.open(0)], []);
  t.deepEqual(told, []);
  const seen = observations.of(refused.model.id, systemTime.monotonicMs());
  t.true(seen.failureRate > 0.3, 'automatic choices avoid the model');
});

test('of many models those called last are observed', (t) => {
  const observations = new Observations();
  observations.record('busy', 0, { failed: true });
  for (let nth = 0; nth < 2 * observedModelsMax; nth += 1) {
    observations.record(`sim.lorem-${nth}`, 0, { failed: true });
    observations.record('busy', 0, { failed: true });
  }
  t.is(observations.size, observedModelsMax);
  t.true(observations.of('busy', 0).failureRate > 0.9);
  t.is(observations.of('sim.lorem-0', 0).failureRate, 0);
  t.true(observations.of(`sim.lorem-${2 * observedModelsMax - 1}`, 0).failureRate > 0);
});

test("what one tenant's own key is refused steers the automatic choice of nobody", async (t) => {
  const server = await new OpenAiServer().start();
  t.teardown(() => server.stop());
  const id = 'openai.gpt-4.1-mini';
  const rateAfter = async (payer: 'platform' | 'tenant', status: number): Promise<number> => {
    const observations = new Observations();
    // Longer than any call waits.
    server.script({ status, headers: { 'retry-after': '3600' } });
    const { outcome } = await call([target(id, server, { payer })], { ports: { observations } });
    t.is(outcome.kind, 'failed');
    return observations.of(id, systemTime.monotonicMs()).failureRate;
  };
  for (const status of [401, 403, 429]) {
    t.is(await rateAfter('tenant', status), 0, String(status));
    t.true((await rateAfter('platform', status)) > 0, String(status));
  }
  t.true((await rateAfter('tenant', 500)) > 0, "the model's own failure counts whoever pays");
});
