import test from 'ava';
import { ClusterError } from '../../../../cluster/index.js';
import { EndingActivation } from '../../../../src/conversations/sessions/ending-activation.js';
import type { PlainActivation } from '../../../../src/conversations/sessions/parts.js';

/** An activation whose writes end so, and the reasons with which it was ended. */
function activation(write: PlainActivation['write']) {
  const ends: string[] = [];
  const inner: Partial<PlainActivation> = { write, end: (reason) => void ends.push(reason) };
  return { ends, ending: new EndingActivation(inner as PlainActivation) };
}

test('a refused write ends the activation, whose memory is ahead of the store', async (t) => {
  const refused = new ClusterError('write_rejected', 'a rule of the store was violated');
  const { ends, ending } = activation(() => Promise.reject(refused));
  t.is(await t.throwsAsync(ending.write({})), refused);
  t.deepEqual(ends, ['failed']);
});

test('a write whose result the store lost ends the activation only if the result is needed', async (t) => {
  const { ends, ending } = activation(() => Promise.resolve({ outcome: 'result_lost' }));
  await ending.write({});
  t.deepEqual(ends, []);
  await t.throwsAsync(ending.writeKnown({}), { message: /^outcome_unknown/ });
  t.deepEqual(ends, ['failed']);
});
