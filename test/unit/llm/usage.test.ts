import test from 'ava';
import fc from 'fast-check';
import { anthropicUsage, mergeAnthropicUsage } from '../../../src/llm/anthropic/usage.js';
import { chatUsage } from '../../../src/llm/chat-dialect/usage.js';
import { geminiUsage } from '../../../src/llm/google/usage.js';
import { costOf, sumOfCosts } from '../../../src/llm/catalogue/price.js';
import { inputTokens, outputTokens, totalTokens, zeroUsage, type Usage } from '../../../src/llm/index.js';
import { openrouterUsage } from '../../../src/llm/openrouter/usage.js';
import { xaiUsage } from '../../../src/llm/xai/usage.js';

const count = fc.nat(1_000_000);
const anything = fc.oneof(
  count,
  fc.constant(null),
  fc.constant('12'),
  fc.constant(-4),
  fc.double(),
  fc.anything(),
);

test("usage parts add up to each vendor's bill, whichever parts include others", (t) => {
  fc.assert(
    fc.property(count, count, count, count, count, (prompt, cached, written, completion, reasoning) => {
      const raw = {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: prompt + completion,
        prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
        completion_tokens_details: { reasoning_tokens: reasoning },
      };
      for (const usage of [chatUsage(raw), openrouterUsage(raw), xaiUsage(raw)]) {
        t.is(inputTokens(usage), prompt);
        t.is(outputTokens(usage), completion);
      }
      const outside = { ...raw, total_tokens: prompt + completion + reasoning };
      if (reasoning > 0) t.is(outputTokens(xaiUsage(outside)), completion + reasoning);
      const gemini = geminiUsage({
        promptTokenCount: prompt,
        cachedContentTokenCount: cached,
        toolUsePromptTokenCount: written,
        candidatesTokenCount: completion,
        thoughtsTokenCount: reasoning,
      });
      t.is(totalTokens(gemini), prompt + written + completion + reasoning);
      const anthropic = anthropicUsage({
        input_tokens: prompt,
        cache_read_input_tokens: cached,
        cache_creation_input_tokens: written,
        cache_creation: { ephemeral_1h_input_tokens: reasoning },
        output_tokens: completion,
      });
      t.is(inputTokens(anthropic), prompt + cached + written);
      t.is(outputTokens(anthropic), completion);
    }),
  );
});

test('invalid counts of a vendor never make usage negative or fractional, or throw', (t) => {
  const shape = fc.oneof(
    fc.anything(),
    fc.dictionary(
      fc.constantFrom(
        'prompt_tokens',
        'completion_tokens',
        'total_tokens',
        'input_tokens',
        'output_tokens',
        'prompt_tokens_details',
        'completion_tokens_details',
        'promptTokenCount',
        'thoughtsTokenCount',
        'cache_creation',
        'iterations',
        'cost',
      ),
      anything,
    ),
  );
  const readers: readonly ((raw: unknown) => Usage)[] = [
    chatUsage,
    xaiUsage,
    openrouterUsage,
    geminiUsage,
    anthropicUsage,
  ];
  fc.assert(
    fc.property(shape, (raw) => {
      for (const read of readers) {
        const { source: _source, raw: _raw, serviceTier: _tier, vendorCost = 0, ...parts } = read(raw);
        for (const part of Object.values(parts)) t.true(Number.isInteger(part) && part >= 0);
        t.true(vendorCost >= 0);
      }
    }),
  );
});

test('later totals of Anthropic replace earlier ones, and nulls keep them', (t) => {
  const first = mergeAnthropicUsage({}, { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 });
  const then = mergeAnthropicUsage(first, { input_tokens: null, output_tokens: 40 });
  const usage = anthropicUsage(mergeAnthropicUsage(then, { output_tokens: 42 }));
  t.is(inputTokens(usage), 15);
  t.is(outputTokens(usage), 42);
});

test('of the rounds of an answer only those beside the totals are added to them', (t) => {
  const round = (type: string) => ({ type, model: 'm', input_tokens: 100, output_tokens: 10 });
  const counted = (...types: readonly string[]): readonly number[] => {
    const usage = anthropicUsage({ input_tokens: 1_000, output_tokens: 50, iterations: types.map(round) });
    return [inputTokens(usage), outputTokens(usage)];
  };
  t.deepEqual(counted('message', 'message'), [1_000, 50]);
  t.deepEqual(counted('message', 'fallback_message'), [1_000, 50], 'it stands in place of a message');
  t.deepEqual(counted('message', 'of tomorrow'), [1_000, 50]);
  t.deepEqual(counted('compaction', 'message'), [1_100, 60]);
  t.deepEqual(counted('message', 'advisor_message', 'message'), [1_100, 60]);
});

test('of what Anthropic reports the largest surcharge is the service tier', (t) => {
  for (const [told, expected] of [
    [{ service_tier: 'standard', speed: 'standard', inference_geo: 'global' }, undefined],
    [{ service_tier: null, speed: null, inference_geo: 'not_available' }, undefined],
    [{ speed: '', inference_geo: '' }, undefined],
    [{ service_tier: 'standard', speed: 'fast', inference_geo: 'us' }, 'fast'],
    [{ service_tier: 'priority', speed: 'standard', inference_geo: 'us' }, 'priority'],
    [{ service_tier: 'standard', inference_geo: 'us' }, 'us'],
  ] as const) {
    t.is(anthropicUsage({ input_tokens: 1, output_tokens: 1, ...told }).serviceTier, expected);
  }
});

test('a price depends on each part, the length of the prompt, and a cost named by the vendor', (t) => {
  const price = {
    input_per_mtok: 2,
    output_per_mtok: 10,
    cached_input_per_mtok: 0.2,
    long_prompt: { above_tokens: 1000, input_per_mtok: 4, output_per_mtok: 15 },
  };
  const usage: Usage = {
    ...zeroUsage,
    inputUncached: 100,
    cacheRead: 100,
    cacheWrite5m: 100,
    cacheWrite1h: 100,
    outputVisible: 10,
    reasoning: 10,
  };
  // 100×2 + 100×0.2 + 100×2.5 + 100×4 + 20×10, per million.
  t.is(costOf(usage, price), 0.00107);
  t.is(costOf({ ...zeroUsage, inputUncached: 2000, outputVisible: 100 }, price), 0.0095);
  t.is(costOf({ ...usage, vendorCost: 0.5 }, price), 0.5);
  t.is(costOf(zeroUsage, price), 0);
});

test('the total cost of several attempts shows no rounding noise', (t) => {
  t.is(sumOfCosts([0.1, 0.2, 0.0000003]), 0.3000003);
  t.is(sumOfCosts([]), 0);
});
