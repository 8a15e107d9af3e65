import test from 'ava';
import { zeroUsage } from '../../../../src/llm/index.js';
import { TurnTokens } from '../../../../src/conversations/turns/turn-usage.js';

test('the cost of a turn of many rounds shows no rounding noise', (t) => {
  const tally = new TurnTokens();
  for (const cost of [0.1, 0.2, 0.0000003]) tally.add({ cost });
  t.is(JSON.stringify({ cost: tally.cost }), '{"cost":0.3000003}');
});

test('a turn is admitted by what the platform paid for, and by records that do not tell who paid', (t) => {
  const after = (...steps: readonly Parameters<TurnTokens['add']>[0][]) => {
    const tally = new TurnTokens();
    for (const step of steps) tally.add(step);
    return tally.admitted;
  };
  const own = { usage: zeroUsage, cost: 0.1, admitted: false };
  t.false(after(own, {}), 'a tool, or a check of the intent that was refused, asks no model');
  t.true(after({ ...own, admitted: true }, own));
  t.true(after({ usage: zeroUsage, cost: 0.1 }));
});
