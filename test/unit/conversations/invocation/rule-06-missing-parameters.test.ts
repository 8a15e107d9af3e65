import test from 'ava';
import { withContextDefaults } from '../../../../src/agents/tools/context-defaults.js';
import { toolContext } from '../../../../src/conversations/invocation/index.js';
import { read } from './reading.js';

test('a missing context parameter is reported by name', (t) => {
  const turn = read({ context: { city: 'Lima', gone: null }, bindings: { account: 7 } });
  const { args, missing } = withContextDefaults(
    { account: 'what the model says', city: 'elsewhere' },
    { account: 'account', city: 'city', 'body.requester': 'gone', region: 'tier' },
    toolContext(turn.context, turn.bindings),
  );
  t.deepEqual(args, { account: 7, city: 'Lima' });
  t.deepEqual(missing, ['gone', 'tier']);
});
