import { inspect } from 'node:util';
import test from 'ava';
import {
  CatalogueError,
  parseCompatibleVendors,
  parseModels,
  parseModelsFile,
  builtInModels,
  builtInVendors,
  Catalogue,
  VendorKeys,
  adaptersByVendor,
} from '../../../src/llm/index.js';
import { catalogue } from '../../support/servers/vendors/call-harness.js';

test('the catalogue has models of every vendor and tier, with plausible prices', (t) => {
  for (const vendor of builtInVendors) {
    const models = catalogue.all.filter((model) => model.vendor === vendor);
    t.true(models.length >= 5, vendor);
    for (const tier of ['economical', 'premium', 'flagship']) {
      t.true(
        models.some((model) => model.tier === tier),
        `${vendor} ${tier}`,
      );
    }
    for (const { id, kind, price, maxOutputTokens, contextWindow } of models) {
      t.true(price.input_per_mtok > 0, id);
      t.true(
        kind === 'embedding' ? price.output_per_mtok === 0 : price.output_per_mtok >= price.input_per_mtok,
        id,
      );
      t.true((price.cached_input_per_mtok ?? 0) <= price.input_per_mtok, id);
      t.true(maxOutputTokens <= contextWindow, id);
    }
  }
});

test('a model is found by its id, or by its name and the provider', (t) => {
  const model = catalogue.byId('openai.gpt-4.1');
  t.deepEqual(catalogue.resolve('openai.gpt-4.1'), { model: model ?? t.fail() });
  t.deepEqual(catalogue.resolve('gpt-4.1', 'openai'), { model: model ?? t.fail() });
  t.is(catalogue.byId('openrouter.openai/gpt-5')?.name, 'openai/gpt-5');
  t.deepEqual(catalogue.resolve('openai.gpt-99'), { problem: 'invalid_model' });
  t.deepEqual(catalogue.resolve('acme.gpt-4.1'), { problem: 'invalid_model' });
  t.deepEqual(catalogue.resolve('openai.gpt-4.1', 'anthropic'), { problem: 'invalid_model' });
  t.deepEqual(catalogue.resolve('openai.gpt-4.1', 'acme'), { problem: 'invalid_provider' });
  t.deepEqual(catalogue.resolve('__proto__'), { problem: 'invalid_model' });
});

test('a model is found by the spellings of vendors and aggregators', (t) => {
  const found = (name: string, preferred?: string): string => {
    const result = catalogue.resolve(name, undefined, preferred);
    return 'model' in result ? `${result.model.id}=${result.model.name}` : result.problem;
  };
  t.is(found('gpt-4o'), 'openai.gpt-4o=gpt-4o');
  t.is(found('gpt-4o-2024-08-06'), 'openai.gpt-4o=gpt-4o-2024-08-06');
  t.is(found('openai/gpt-4o-2024-08-06', 'anthropic'), 'openai.gpt-4o=gpt-4o-2024-08-06');
  t.is(found('claude-sonnet-4-20250514'), 'anthropic.claude-sonnet-4=claude-sonnet-4-20250514');
  t.is(
    found('anthropic.claude-sonnet-4-5-20250929', 'openai'),
    'anthropic.claude-sonnet-4-5=claude-sonnet-4-5-20250929',
  );
  t.is(found('claude-haiku-4-5-latest'), 'anthropic.claude-haiku-4-5=claude-haiku-4-5-latest');
  t.is(found('google/gemini-2.5-flash-001'), 'google.gemini-2.5-flash=gemini-2.5-flash-001');
  t.is(found('openai/gpt-5'), 'openai.gpt-5=gpt-5', 'the vendor before the aggregator');
  t.is(found('openrouter/openai/gpt-5'), 'openrouter.openai/gpt-5=openai/gpt-5');
  t.is(found('deepseek/deepseek-v3.2'), 'openrouter.deepseek/deepseek-v3.2=deepseek/deepseek-v3.2');
  t.is(found('echo'), 'sim.echo=echo');
  for (const name of ['gpt-4o-2024-13-45x', 'gpt-99-2024-08-06', 'echo-20250514', '/', '.', 'openai/']) {
    t.is(found(name), 'invalid_model', name);
  }
});

test('of vendors that share a bare name the preferred one is meant, then the built-in one', (t) => {
  const model = { ...entry, id: 'local.gpt-4o', vendor: 'local' };
  const both = new Catalogue(builtInModels(), parseModels('x', JSON.stringify([model])));
  const vendorOf = (preferred?: string): string | undefined => {
    const found = both.resolve('gpt-4o', undefined, preferred);
    return 'model' in found ? found.model.vendor : undefined;
  };
  t.is(vendorOf(), 'openai');
  t.is(vendorOf('local'), 'local');
});

test("the operator's names stand for models, also for known ones, and their models must exist", (t) => {
  const named = new Catalogue(builtInModels()).withAliases({ fast: 'gpt-4.1-mini', 'gpt-4o': 'gpt-5' });
  for (const [alias, id] of [
    ['fast', 'openai.gpt-4.1-mini'],
    ['gpt-4o', 'openai.gpt-5'],
  ] as const) {
    const found = named.resolve(alias);
    t.is('model' in found ? found.model.id : '', id);
  }
  t.throws(() => new Catalogue(builtInModels()).withAliases({ fast: 'nobody' }), {
    instanceOf: CatalogueError,
    message: /aliases\.fast/,
  });
  const file = JSON.stringify({ aliases: { fast: 'gpt-5' } });
  t.deepEqual(parseModelsFile('file', file), { models: [], aliases: { fast: 'gpt-5' } });
  t.throws(() => parseModelsFile('file', '{"aliases": {"auto": "gpt-5"}}'), { instanceOf: CatalogueError });
});

test('models of the sim vendor are made from their names', (t) => {
  t.is(catalogue.byId('sim.lorem-37')?.name, 'lorem-37');
  t.is(catalogue.byId('sim.lorem-37-5')?.price.output_per_mtok, 0);
  t.is(catalogue.byId('sim.lorem-'), undefined);
  t.is(catalogue.byId('sim.lorem-1-2-3'), undefined);
  t.is(catalogue.byId('sim.other'), undefined);
});

const entry = {
  id: 'openai.my-tune',
  vendor: 'openai',
  tier: 'premium',
  context_window: 1000,
  max_output_tokens: 100,
  price: { input_per_mtok: 1, output_per_mtok: 2 },
  capabilities: ['text'],
};

test("an operator's file adds models and replaces built-in ones", (t) => {
  const cheaper = { ...entry, id: 'openai.gpt-4.1', vendor_model: 'gpt-4.1-2025-04-14' };
  const file = parseModels('models.json', JSON.stringify({ models: [entry, cheaper] }));
  const extended = new Catalogue(builtInModels(), file);
  t.is(extended.byId('openai.my-tune')?.tier, 'premium');
  t.is(extended.byId('openai.gpt-4.1')?.name, 'gpt-4.1-2025-04-14');
  t.is(extended.all.length, catalogue.all.length + 1);
});

test('an unusable file is reported with place and reason', (t) => {
  const refused = (text: string, message: RegExp): void => {
    t.throws(() => parseModels('models.json', text), { instanceOf: CatalogueError, message });
  };
  refused('{', /^models\.json: not valid JSON/);
  refused(JSON.stringify([{ ...entry, tier: 'golden' }]), /0\.tier|models\.json/);
  refused(JSON.stringify([{ ...entry, id: 'xai.my-tune' }]), /models\.json/);
  refused(JSON.stringify([{ ...entry, price: { input_per_mtok: -1, output_per_mtok: 2 } }]), /models\.json/);
});

test('compatible vendors add models by short or full name, and hide no built-in one', (t) => {
  const text = JSON.stringify([
    {
      name: 'ollama',
      base_url: 'http://127.0.0.1:11434/v1',
      models: ['qwen3:8b', { id: 'llama3', tier: 'premium' }],
    },
    { name: 'vllm', base_url: 'https://vllm.internal/v1', api_key: 'planted-key', models: ['vllm.mixtral'] },
  ]);
  const vendors = parseCompatibleVendors(text);
  t.deepEqual(
    vendors.map(({ name, baseUrl, models }) => [name, baseUrl, models.map(({ id, tier }) => [id, tier])]),
    [
      [
        'ollama',
        'http://127.0.0.1:11434/v1',
        [
          ['ollama.qwen3:8b', 'economical'],
          ['ollama.llama3', 'premium'],
        ],
      ],
      ['vllm', 'https://vllm.internal/v1', [['vllm.mixtral', 'economical']]],
    ],
  );
  t.is(vendors[1]?.reveal(), 'planted-key');
  t.false(JSON.stringify(vendors).includes('planted'));
  t.truthy(adaptersByVendor(vendors).get('ollama'));
  const all = new Catalogue(builtInModels(), ...vendors.map(({ models }) => models));
  t.true(all.hasVendor('vllm'));
  t.is(all.byId('ollama.qwen3:8b')?.name, 'qwen3:8b');

  const hiding = parseCompatibleVendors(
    JSON.stringify([{ name: 'openai', base_url: 'http://x/v1', models: ['a'] }]),
  );
  t.throws(() => adaptersByVendor(hiding), { instanceOf: CatalogueError });
  const broken = '[{"name":"a","base_url":"http://x","api_key":"planted-key","models":[]';
  const error = t.throws(() => parseCompatibleVendors(broken), { instanceOf: CatalogueError });
  t.false(`${error?.message} ${String(error?.cause)}`.includes('planted'));
  t.throws(() => parseCompatibleVendors('[{"name":"a","base_url":"ftp://x","models":["m"]}]'));
});

test("keys are found by vendor: the operator's, a compatible server's, and a tenant's own", (t) => {
  const compatible = parseCompatibleVendors(
    '[{"name":"ollama","base_url":"http://127.0.0.1:1/v1","models":["m"]}]',
  );
  const keys = new VendorKeys(
    { openai: { apiKey: 'planted-1', baseUrl: 'http://127.0.0.1:2/v1' } },
    compatible,
  );
  t.is(keys.platform('openai')[0]?.baseUrl, 'http://127.0.0.1:2/v1');
  t.is(keys.platform('openai')[0]?.reveal(), 'planted-1');
  t.deepEqual(keys.platform('anthropic'), []);
  t.is(keys.platform('ollama')[0]?.reveal(), undefined);
  t.is(keys.platform('sim')[0]?.payer, 'platform');
  const own = { secretId: 's', version: '2', reveal: () => 'planted-2' };
  t.like(keys.forTenant('anthropic', own), {
    id: 'tenant:s:2',
    payer: 'tenant',
    baseUrl: 'https://api.anthropic.com',
  });
  t.is(keys.forTenant('acme', own), undefined);
  t.false(inspect(keys, { depth: 10, showHidden: true }).includes('planted'));
});
