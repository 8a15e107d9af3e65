import test from 'ava';
import { systemPlatform } from '../../../../src/infra/platform/index.js';
import { createSealer, type SealedPlace, SealError } from '../../../../src/infra/sealing/index.js';

const key = Buffer.alloc(32, 1);
const otherKey = Buffer.alloc(32, 2);
const sealer = createSealer({ masterKey: key, random: systemPlatform.random });
const row1: SealedPlace = ['mail', 'row 1'];
const row2: SealedPlace = ['mail', 'row 2'];
const value = Buffer.from('a secret');

test('a sealed value opens in its place and reveals nothing', (t) => {
  const sealed = sealer.seal(value, row1);
  t.deepEqual(sealer.open(sealed, row1), value);
  t.false(sealed.includes(value));
  t.notDeepEqual(sealed, sealer.seal(value, row1));
});

test('a value that was moved, changed, cut or sealed under another key does not open', (t) => {
  const sealed = sealer.seal(value, row1);
  t.throws(() => sealer.open(sealed, row2), { instanceOf: SealError });
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = Buffer.from(sealed);
    changed[index] = (changed[index] ?? 0) ^ 1;
    t.throws(() => sealer.open(changed, row1), { instanceOf: SealError });
  }
  for (const length of [0, 10, 36, sealed.length - 1]) {
    t.throws(() => sealer.open(sealed.subarray(0, length), row1), { instanceOf: SealError });
  }
  t.throws(() => createSealer({ masterKey: otherKey, random: systemPlatform.random }).open(sealed, row1), {
    instanceOf: SealError,
  });
});

test('after a new master key the former still opens, and reports that it must be sealed again', (t) => {
  const sealed = sealer.seal(value, row1);
  const next = createSealer({ masterKey: otherKey, formerMasterKeys: [key], random: systemPlatform.random });
  t.deepEqual(next.open(sealed, row1), value);
  t.true(next.isStale(sealed));
  t.false(next.isStale(next.seal(value, row1)));
});

test('a value opens neither for another purpose nor where text has moved between the parts of a place', (t) => {
  const sealed = sealer.seal(value, ['mail', 'a', 'b']);
  t.deepEqual(sealer.open(sealed, ['mail', 'a', 'b']), value);
  for (const place of [
    ['vault', 'a', 'b'],
    ['mail', 'a b'],
    ['mail', 'ab'],
    ['mail', 'a'],
  ] satisfies SealedPlace[]) {
    t.throws(() => sealer.open(sealed, place), { instanceOf: SealError }, place.join('/'));
  }
});

test('a value of an earlier format is refused as such', (t) => {
  const sealed = sealer.seal(value, row1);
  t.throws(() => sealer.open(Buffer.concat([Buffer.of(1), sealed.subarray(1)]), row1), {
    instanceOf: SealError,
    message: 'not a sealed value',
  });
});
