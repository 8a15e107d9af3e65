// What is sent of a wish for thoughts, within what each model takes.
import test from 'ava';
import { toConverseRequest } from '../../../src/llm/clouds/bedrock/to-request.js';
import { adaptersByVendor, type LlmRequest } from '../../../src/llm/index.js';
import { catalogue } from '../../support/servers/vendors/call-harness.js';

type Json = Record<string, unknown>;

const adapters = adaptersByVendor([]);
const whole: LlmRequest = {
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
  stream: false,
};
const forced: Partial<LlmRequest> = {
  reasoningEffort: 'low',
  temperature: 0.2,
  tools: [{ name: 'weather', parameters: { type: 'object', properties: {} } }],
  toolChoice: 'required',
};

function modelOf(id: string) {
  const model = catalogue.byId(id);
  if (model === undefined) throw new Error(id);
  return model;
}

function sent(id: string, request: Partial<LlmRequest>): Json {
  const model = modelOf(id);
  const { body } = adapters.get(model.vendor)?.toRequest({ ...whole, ...request }, model) ?? { body: '{}' };
  return JSON.parse(body) as Json;
}

function sentToBedrock(like: string, request: Partial<LlmRequest>): Json {
  const { body } = toConverseRequest('bedrock-eu', { ...whole, ...request }, modelOf(like));
  return JSON.parse(body) as Json;
}

test('Gemini gets a budget that the model takes, and none only where thoughts can be turned off', (t) => {
  const budgetOf = (id: string, request: Partial<LlmRequest>): unknown => {
    const config = sent(id, request)['generationConfig'] as Json;
    return (config['thinkingConfig'] as Json)['thinkingBudget'];
  };
  const none = { reasoningEffort: 'none' as const };
  t.is(budgetOf('google.gemini-2.5-pro', none), 128, 'the model refuses 0');
  t.is(budgetOf('google.gemini-2.5-flash', none), 0);
  t.is(budgetOf('google.gemini-2.5-flash-lite', none), 0);
  const high = (thinkingBudget: number) => ({ reasoningEffort: 'high' as const, thinkingBudget });
  t.is(budgetOf('google.gemini-2.5-flash', high(30_000)), 24_576);
  t.is(budgetOf('google.gemini-2.5-pro', high(30_000)), 30_000);
  t.is(budgetOf('google.gemini-2.5-pro', high(50_000)), 32_768);
  t.is(budgetOf('google.gemini-2.5-flash-lite', high(200)), 512);
});

test('a model that always thinks is asked for little where none is wanted', (t) => {
  const none = { reasoningEffort: 'none' as const };
  for (const id of [
    'openai.gpt-5',
    'openai.gpt-5-nano',
    'openai.o3',
    'openai.o4-mini',
    'openrouter.openai/gpt-5',
  ]) {
    t.is(sent(id, none)['reasoning_effort'], 'low', id);
  }
  t.is(sent('openai.gpt-5.1', none)['reasoning_effort'], 'none');
  t.is(sent('openai.gpt-5', { reasoningEffort: 'high' })['reasoning_effort'], 'high');
});

test('models on Bedrock think by effort where they choose themselves, and a budget is below the bound', (t) => {
  const fields = (like: string, request: Partial<LlmRequest>): unknown =>
    sentToBedrock(like, request)['additionalModelRequestFields'];
  const adaptive = sentToBedrock('anthropic.claude-sonnet-4-6', {
    reasoningEffort: 'medium',
    temperature: 0.3,
    maxTokens: 500,
  });
  t.deepEqual(adaptive['additionalModelRequestFields'], {
    thinking: { type: 'adaptive' },
    output_config: { effort: 'medium' },
  });
  t.deepEqual(adaptive['inferenceConfig'], { maxTokens: 500 });
  const none = { reasoningEffort: 'none' as const };
  t.deepEqual(fields('anthropic.claude-opus-5', none), { thinking: { type: 'disabled' } });
  t.is(fields('anthropic.claude-opus-5-5', none), undefined, 'it always thinks');
  t.is(fields('anthropic.claude-sonnet-4-5', none), undefined);
  const large = { reasoningEffort: 'high' as const, maxTokens: 2_000 };
  for (const [given, budget] of [
    [70_000, 62_000],
    [64_000, 62_000],
    [400, 1_024],
  ] as const) {
    const body = sentToBedrock('anthropic.claude-sonnet-4-5', { ...large, thinkingBudget: given });
    t.deepEqual(body['additionalModelRequestFields'], {
      thinking: { type: 'enabled', budget_tokens: budget },
    });
    t.true(((body['inferenceConfig'] as Json)['maxTokens'] as number) > budget);
  }
});

test('a tool that must be called comes before thoughts, where a model takes only one of them', (t) => {
  for (const id of ['anthropic.claude-haiku-4-5', 'anthropic.claude-sonnet-4-6']) {
    const body = sent(id, forced);
    t.deepEqual(body['tool_choice'], { type: 'any' }, id);
    t.deepEqual(body['thinking'], id.endsWith('4-6') ? { type: 'disabled' } : undefined, id);
    t.is(body['output_config'], undefined);
    t.is(body['temperature'], 0.2, 'a model that does not think takes it');
  }
  const cloud = sentToBedrock('anthropic.claude-haiku-4-5', { ...forced, toolChoice: { name: 'weather' } });
  t.is(cloud['additionalModelRequestFields'], undefined);
  t.deepEqual((cloud['toolConfig'] as Json)['toolChoice'], { tool: { name: 'weather' } });
  t.deepEqual(sent('anthropic.claude-sonnet-5', forced)['thinking'], { type: 'adaptive' });
  t.is(sent('openai.gpt-5', forced)['reasoning_effort'], 'low');
});

test('stop sequences that a vendor refuses are left out', (t) => {
  const stop = ['\n', 'a', 'b', 'c', 'd', 'e'];
  t.deepEqual(sent('anthropic.claude-haiku-4-5', { stop })['stop_sequences'], stop.slice(1));
  t.false('stop_sequences' in sent('anthropic.claude-haiku-4-5', { stop: ['\n'] }));
  const config = sent('google.gemini-2.5-flash', { stop })['generationConfig'] as Json;
  t.deepEqual(config['stopSequences'], stop.slice(0, 5));
  t.deepEqual(sent('openai.gpt-4.1', { stop })['stop'], stop.slice(0, 4));
  t.deepEqual(sent('xai.grok-3', { stop })['stop'], stop);
});
