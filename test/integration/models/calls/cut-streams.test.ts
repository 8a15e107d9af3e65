// Streams that end at every frame, in every way: a caller reads the beginning of one model's answer, each byte of
// it once, or the whole of the next one's. Never both.
import test from 'ava';
import { PlatformError } from '../../../../src/kernel/errors.js';
import type { LlmEvent } from '../../../../src/llm/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { orderOf, startCalls } from '../../../support/servers/calls-rig.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { AnthropicServer } from '../../../support/servers/vendors/anthropic-server.js';
import { GeminiServer } from '../../../support/servers/vendors/gemini-server.js';
import { OpenAiServer } from '../../../support/servers/vendors/openai-server.js';
import type { Script, VendorServer } from '../../../support/servers/vendors/vendor-server.js';

const database = databaseOfFile(test);

const vendors: readonly (readonly [
  'openai' | 'anthropic' | 'google' | 'xai' | 'openrouter',
  string,
  () => VendorServer,
])[] = [
  ['openai', 'openai.gpt-4.1-mini', () => new OpenAiServer()],
  ['anthropic', 'anthropic.claude-haiku-4-5', () => new AnthropicServer()],
  ['google', 'google.gemini-2.5-flash', () => new GeminiServer()],
  ['xai', 'xai.grok-4.3', () => new OpenAiServer('xai')],
  ['openrouter', 'openrouter.openai/gpt-5', () => new OpenAiServer('openrouter')],
];

/** A vendor's output, with its own mark on every piece. */
function answerOf(mark: string): Script & { readonly pieces: readonly string[] } {
  const pieces = Array.from({ length: 6 }, (_, nth) => `${mark}${nth} `);
  return {
    thinking: [`${mark}-thinks `],
    pieces,
    toolCalls: [{ id: 'c1', name: 'f', args: [`{"${mark}":1}`] }],
  };
}

/** Everything of an answer that anybody could read, in its order. */
function readable(events: readonly LlmEvent[]): string {
  return events
    .map((event) => {
      if (event.type === 'content' || event.type === 'thinking' || event.type === 'tool_call_arguments') {
        return event.text;
      }
      return event.type === 'tool_call_start' ? `[${event.name}]` : '';
    })
    .join('');
}

const ends = ['cutAfter', 'failAfter'] as const;

for (const [at, [vendor, model, make]] of vendors.entries()) {
  test(`${vendor}: a stream that ends at any frame is one model's answer, or another's from its beginning`, async (t) => {
    t.timeout(120_000);
    const [, nextModel, makeNext] = vendors[(at + 1) % vendors.length] ?? vendors[0] ?? [];
    const nextVendor = vendors[(at + 1) % vendors.length]?.[0] ?? 'openai';
    const own = make();
    const next = makeNext?.();
    if (next === undefined || nextModel === undefined) throw new Error('there is a next one');
    await own.start();
    await next.start();
    const rig = await startCalls({
      databaseUrl: database.url,
      vendors: {
        [vendor]: { apiKey: 'key-of-one', baseUrl: own.baseUrl },
        [nextVendor]: { apiKey: 'key-of-next', baseUrl: next.baseUrl },
      },
    });
    t.teardown(async () => {
      await rig.close();
      await own.stop();
      await next.stop();
    });
    const scope = await insertTenant(rig.store);
    const call = async (): Promise<{ text: string; ended: boolean }> => {
      const order = orderOf(scope, {}, { model, fallbackModels: [nextModel] });
      const begin = await rig.calls.models.prepare(order);
      const seen: LlmEvent[] = [];
      try {
        await begin().run((events) => void seen.push(...events));
        return { text: readable(seen), ended: true };
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error;
        return { text: readable(seen), ended: false };
      }
    };
    next.byDefault(answerOf('next'));
    own.byDefault(answerOf('own'));
    const whole = await call();
    t.true(whole.ended && whole.text.includes('own5'));
    own.script({ status: 500 });
    const other = await call();
    t.true(other.ended && other.text.includes('next5') && !other.text.includes('own'));

    t.deepEqual(await call(), whole);
    const frames = 1 + 6 + 1;
    for (const end of ends) {
      for (let frame = 0; frame < frames; frame += 1) {
        const script = { ...answerOf('own'), [end]: frame };
        // OpenAI's thoughts are hidden: its first piece is nothing that anybody reads.
        const silent = frame === 0 || (frame === 1 && vendor === 'openai');
        own.script(script);
        const got = await call();
        // A good answer in between: a vendor that only fails would be skipped for a while.
        t.deepEqual(await call(), whole);
        if (silent) t.deepEqual(got, other, `${end} ${frame}`);
        else {
          t.false(got.ended, `${end} ${frame}`);
          t.true(got.text !== '' && whole.text.startsWith(got.text), `${end} ${frame}: ${got.text}`);
        }
      }
    }
  });
}
