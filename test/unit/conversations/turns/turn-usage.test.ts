import test from 'ava';
import { TurnTokens } from '../../../../src/conversations/turns/turn-usage.js';

test('the cost of a turn of many rounds shows no rounding noise', (t) => {
  const tally = new TurnTokens();
  for (const cost of [0.1, 0.2, 0.0000003]) tally.add({ cost });
  t.is(JSON.stringify({ cost: tally.cost }), '{"cost":0.3000003}');
});
