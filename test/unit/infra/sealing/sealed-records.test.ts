import { randomBytes } from 'node:crypto';
import test from 'ava';
import { createSealer, SealError } from '../../../../src/infra/sealing/index.js';

const key = Buffer.alloc(32, 1);
const otherKey = Buffer.alloc(32, 2);
const sealer = createSealer({ masterKey: key, randomBytes });
const value = Buffer.from('a secret');

test('a sealed value opens in its place and shows nothing of itself', (t) => {
  const sealed = sealer.seal(value, 'row 1');
  t.deepEqual(sealer.open(sealed, 'row 1'), value);
  t.false(sealed.includes(value));
  t.notDeepEqual(sealed, sealer.seal(value, 'row 1'));
});

test('a value that was moved, changed, cut or sealed under another key does not open', (t) => {
  const sealed = sealer.seal(value, 'row 1');
  t.throws(() => sealer.open(sealed, 'row 2'), { instanceOf: SealError });
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = Buffer.from(sealed);
    changed[index] = (changed[index] ?? 0) ^ 1;
    t.throws(() => sealer.open(changed, 'row 1'), { instanceOf: SealError });
  }
  for (const length of [0, 10, 36, sealed.length - 1]) {
    t.throws(() => sealer.open(sealed.subarray(0, length), 'row 1'), { instanceOf: SealError });
  }
  t.throws(() => createSealer({ masterKey: otherKey, randomBytes }).open(sealed, 'row 1'), {
    instanceOf: SealError,
  });
});

test('after a new master key the former still opens, and says that it is to be sealed anew', (t) => {
  const sealed = sealer.seal(value, 'row 1');
  const next = createSealer({ masterKey: otherKey, formerMasterKeys: [key], randomBytes });
  t.deepEqual(next.open(sealed, 'row 1'), value);
  t.true(next.isStale(sealed));
  t.false(next.isStale(next.seal(value, 'row 1')));
});
