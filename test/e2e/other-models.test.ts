// A request that passes to a vendor of its own format is answered by the model that it names: its tier, price and key hold.
import Anthropic from '@anthropic-ai/sdk';
import test from 'ava';
import OpenAI from 'openai';
import { addOwnKey, booksOf } from '../support/clients/direct-calls.js';
import { clients, recordingVendors } from '../support/servers/vendors/recording-vendors.js';

const { shared, messages: messagesVendor, router } = recordingVendors(test);
const { openai, anthropic } = clients;

const plainQuestion = [{ role: 'user' as const, content: 'Hello' }];
const look = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } };

test.serial('a field that lets the vendor answer with another model is refused by its place', async (t) => {
  const node = await shared.tenant(t);
  await addOwnKey(node, 'openrouter', 'sk-or-own-0123456789');
  const aggregated = { model: 'openrouter.deepseek/deepseek-v3.2', messages: plainQuestion };
  for (const [fields, place] of [
    [{ models: ['openai/gpt-5'] }, 'models'],
    [{ route: 'fallback' }, 'route'],
    [{ fallbacks: [{ model: 'openai/gpt-5' }] }, 'fallbacks'],
    [
      {
        tools: [look, { type: 'openrouter:advisor', parameters: { model: 'openai/gpt-5' } }],
      },
      'tools.1.type',
    ],
    [{ plugins: [{ id: 'web' }, { id: 'fusion' }] }, 'plugins.1.id'],
  ] as const) {
    const error = await t.throwsAsync(
      openai(node).chat.completions.create({ ...aggregated, ...fields } as never),
      {
        instanceOf: OpenAI.BadRequestError,
      },
    );
    t.deepEqual([error.code, error.param], ['validation_error', place]);
    t.regex(error.message, /another model/);
  }
  const advisor = { type: 'advisor_20260301', name: 'advisor' };
  const small = { model: 'claude-haiku-4-5', max_tokens: 50, messages: plainQuestion };
  for (const [fields, place] of [
    [{ fallbacks: [{ model: 'claude-opus-5-5' }] }, 'fallbacks'],
    [{ fallbacks: 'default' }, 'fallbacks'],
    [{ tools: [{ ...advisor, model: 'claude-opus-5-5' }] }, 'tools.0.model'],
  ] as const) {
    const error = await t.throwsAsync(anthropic(node).messages.create({ ...small, ...fields } as never), {
      instanceOf: Anthropic.BadRequestError,
    });
    t.true(
      error.message.includes(`${place}: the vendor anthropic could answer with another model`),
      error.message,
    );
  }
  for (const [field, fields] of Object.entries({
    fallbacks: { fallbacks: 'default' },
    speed: { speed: 'fast' },
  })) {
    const wish = { ...small, ...fields, model: 'auto' };
    const error = await t.throwsAsync(anthropic(node).messages.create(wish as never), {
      instanceOf: Anthropic.BadRequestError,
    });
    t.regex(
      error.message,
      new RegExp(`${field}: the .* anthropic`),
      'the simulated vendor does not answer instead',
    );
  }
  t.is(router.requests.length + messagesVendor.requests.length, 0);
  t.is((await booksOf(node)).rows.length, 0, 'nothing is spent');
  // These ask for nothing of the kind.
  const plain = { models: [], fallbacks: null, route: null, plugins: [{ id: 'web' }] };
  await openai(node).chat.completions.create({ ...aggregated, ...plain } as never);
  t.like(router.requests.at(-1)?.body, plain);
  const own = { fallbacks: [], tools: [{ ...advisor, model: small.model }] };
  await anthropic(node).messages.create({ ...small, ...own } as never);
  t.like(messagesVendor.requests.at(-1)?.body, own);
});
