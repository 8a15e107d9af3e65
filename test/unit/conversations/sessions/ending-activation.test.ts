import test from 'ava';
import { ClusterError } from '../../../../cluster/index.js';
import { EndingActivation } from '../../../../src/conversations/sessions/ending-activation.js';
import type { PlainActivation } from '../../../../src/conversations/sessions/parts.js';

/** An activation whose writes end so, and the reasons with which it was ended. */
function activation(write: PlainActivation['write']) {
  const ends: string[] = [];
  const inner: Partial<PlainActivation> = {
    write,
    end: (reason) => void ends.push(reason),
    closeWrites: () => void ends.push('closed'),
  };
  const soon: (() => void)[] = [];
  const ending = new EndingActivation(inner as PlainActivation, { soon: (action) => void soon.push(action) });
  return { ends, ending, nextTick: () => soon.splice(0).forEach((action) => action()) };
}

test('a refused write ends the activation, whose memory is ahead of the store', async (t) => {
  const refused = new ClusterError('write_rejected', 'a rule of the store was violated');
  const { ends, ending, nextTick } = activation(() => Promise.reject(refused));
  t.is(await t.throwsAsync(ending.write({})), refused);
  t.deepEqual(ends, ['closed'], 'the caller is told first: at the end of the activation it would ask again');
  t.false(ending.mayAct());
  await t.throwsAsync(ending.write({}), { message: /^fenced/ });
  nextTick();
  t.deepEqual(ends, ['closed', 'failed']);
});

test('a write of unknown outcome ends the activation at once', async (t) => {
  const { ends, ending } = activation(() => Promise.reject(new ClusterError('outcome_unknown', 'lost')));
  await t.throwsAsync(ending.write({}), { message: /^outcome_unknown/ });
  t.deepEqual(ends, ['failed']);
});

test('what follows a refused write is written before the activation ends, once', async (t) => {
  const refused = new ClusterError('write_rejected', 'a rule of the store was violated');
  const { ends, ending, nextTick } = activation(() => Promise.reject(refused));
  const told: unknown[] = [];
  const ifRefused = async (_: PlainActivation, error: ClusterError): Promise<void> => {
    await Promise.resolve();
    nextTick();
    told.push(error, [...ends]);
  };
  const writes = [ending.write({}, { ifRefused }), ending.write({}, { ifRefused })];
  for (const write of writes) t.is(await t.throwsAsync(write), refused);
  t.deepEqual(told, [refused, []]);
  nextTick();
  t.deepEqual(ends, ['closed', 'failed']);
});

test('a write whose result the store lost ends the activation only if the result is needed', async (t) => {
  const { ends, ending } = activation(() => Promise.resolve({ outcome: 'result_lost' }));
  await ending.write({});
  t.deepEqual(ends, []);
  await t.throwsAsync(ending.writeKnown({}), { message: /^outcome_unknown/ });
  t.deepEqual(ends, ['failed']);
});
