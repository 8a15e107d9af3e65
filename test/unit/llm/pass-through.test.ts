import test from 'ava';
import { adaptersByVendor } from '../../../src/llm/index.js';
import { fromChatRequest } from '../../../src/models/compat/index.js';

const adapters = adaptersByVendor([]);

/** The bounds of the output that a vendor of OpenAI's format gets. */
function sentBounds(vendor: string, bounds: Readonly<Record<string, unknown>>): unknown {
  const messages = [{ role: 'user', content: 'Hello' }];
  const { request } = fromChatRequest({ model: 'm', messages, ...bounds });
  const model = { name: 'm', maxOutputTokens: 1_000, capabilities: new Set<string>() };
  const body: unknown = JSON.parse(adapters.get(vendor)?.toRequest(request, model).body ?? '');
  return Object.fromEntries(Object.entries(body as object).filter(([field]) => /^max_.*tokens$/.test(field)));
}

test('a bound of the output without a value does not replace one that has a value', (t) => {
  const older = { max_tokens: 100, max_completion_tokens: null };
  t.deepEqual(sentBounds('openrouter', older), { max_tokens: 100 });
  t.deepEqual(sentBounds('openai', older), older);
  t.deepEqual(sentBounds('openrouter', { max_tokens: null, max_completion_tokens: 50 }), { max_tokens: 50 });
  t.deepEqual(sentBounds('openrouter', { max_completion_tokens: 5_000 }), { max_tokens: 1_000 });
  t.deepEqual(sentBounds('openrouter', { max_completion_tokens: null }), {});
});
