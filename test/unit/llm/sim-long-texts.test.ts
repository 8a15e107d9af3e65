// The simulated vendor gets texts as long as a request may be. It must not hold the process for them.
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { inputTokens, outputTokens, type LlmRequest, type Usage } from '../../../src/llm/index.js';
import { openSimAttempt } from '../../../src/llm/sim/sim-attempt.js';
import { openSimEmbedding } from '../../../src/llm/sim/sim-embedding.js';
import type { SimModel } from '../../../src/llm/sim/sim-model.js';
import { wordCount } from '../../../src/llm/sim/words.js';
import type { Attempt } from '../../../src/llm/transport/attempt-feed.js';
import { systemTime } from '../../../cluster/index.js';
import { longestTurn } from '../../support/clocks/longest-turn.js';
import { ask } from '../../support/servers/vendors/call-harness.js';

/** The largest text of a request has 4 MB. */
const words = 2_000_000;
const text = 'a '.repeat(words);
const clocks = {
  firstSignalMs: undefined,
  idleMs: 600_000,
  callDeadlineMs: systemTime.monotonicMs() + 600_000,
};
/** As for a JSON text that is parsed at once. */
const turnMsMax = 60;

/** Reads the attempt as a call does, and keeps nothing that the test does not ask for. */
async function read(t: ExecutionContext, open: () => Attempt): Promise<{ pieces: number; usage: Usage }> {
  let pieces = 0;
  let usage: Usage | undefined;
  const { turnMs } = await longestTurn(async () => {
    const attempt = open();
    for (;;) {
      const items = attempt.take();
      if (items.length === 0 && attempt.ended) return;
      for (const item of items) {
        if (item.type === 'content' || item.type === 'embedding') pieces += 1;
        if (item.type === 'usage') usage = item.usage;
      }
      await attempt.wait();
    }
  });
  t.true(turnMs < turnMsMax, `${Math.round(turnMs)} ms without a turn`);
  if (usage === undefined) throw new Error('the attempt did not end properly');
  return { pieces, usage };
}

function answered(t: ExecutionContext, model: SimModel, more: Partial<LlmRequest> = {}) {
  const request = { ...ask(text), ...more };
  return read(t, () =>
    openSimAttempt({ model, modelName: model.kind, request, id: 'x', time: systemTime, clocks }),
  );
}

test.serial('sim.echo makes its answer piece by piece', async (t) => {
  const { pieces, usage } = await answered(t, { kind: 'echo' });
  t.is(pieces, words + 1);
  t.is(outputTokens(usage), words + 1);
  t.is(inputTokens(usage), words);
});

test.serial('sim.tools looks for its tools at the beginning of a long text', async (t) => {
  const tools = Array.from({ length: 64 }, (_, nth) => ({ name: `weather_${nth}`, parameters: {} }));
  const { pieces } = await answered(t, { kind: 'tools', delayMs: 0 }, { tools });
  t.is(pieces, words + 1);
});

test.serial('sim.embed makes its vectors word by word', async (t) => {
  for (const inputs of [[text], Array.from({ length: 1_000 }, (_, nth) => `text ${nth}`)]) {
    const request = { inputs, dimensions: 3_072, encoding: 'base64' } as const;
    const { pieces } = await read(t, () => openSimEmbedding(request, {}, { time: systemTime, clocks }));
    t.is(pieces, inputs.length);
  }
});

test('words are counted as a pattern finds them', (t) => {
  for (let code = 0; code < 0x1_0000; code += 1) {
    const one = String.fromCharCode(code);
    if (wordCount(one) !== (/\s/.test(one) ? 0 : 1)) t.fail(code.toString(16));
  }
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', 'é', '👋', ' ', '\n', '\u2003') }), (any) => {
      t.is(wordCount(any), any.match(/\S+/g)?.length ?? 0);
    }),
  );
});
