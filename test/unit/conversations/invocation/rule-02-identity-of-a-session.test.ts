import test from 'ava';
import { consumerKeyCharactersMax, identityAfter } from '../../../../src/conversations/invocation/index.js';
import { PlatformError } from '../../../../src/kernel/errors.js';
import { read, refused } from './reading.js';

test('a session of another consumer refuses the turn with CONFLICT', (t) => {
  const error = t.throws(() => identityAfter('+4917155501', '4917155501'), { instanceOf: PlatformError });
  t.is(error.code, 'conflict');
  t.is(error.status, 409);
});

test('a session without an identity takes the first declared one', (t) => {
  t.is(identityAfter(null, 'c-1'), 'c-1');
});

test('a turn that declares none, or the same, keeps the identity', (t) => {
  t.is(identityAfter('c-1', undefined), 'c-1');
  t.is(identityAfter('c-1', 'c-1'), 'c-1');
  t.is(identityAfter(null, undefined), null);
});

test('a consumer_key is used as written, within its bounds', (t) => {
  t.is(read({ consumer_key: ' Ada@X.org' }).consumerKey, ' Ada@X.org');
  t.is(read({ consumer_key: 'x'.repeat(consumerKeyCharactersMax) }).consumerKey?.length, 255);
  for (const wrong of ['x'.repeat(consumerKeyCharactersMax + 1), '', '  ', 7, null, {}, []])
    refused(t, { consumer_key: wrong }, 'consumer_key');
});
