import test from 'ava';
import { displayNameAfter } from '../../../../src/conversations/invocation/index.js';
import { ignored, read, refused } from './reading.js';

test('a declared name replaces the current one, an inferred one only fills a contact with no name', (t) => {
  t.is(displayNameAfter('Ada', { name: 'Ada L.', source: 'declared' }), 'Ada L.');
  t.is(displayNameAfter('Ada', { name: 'wa-ada', source: 'inferred' }), 'Ada');
  t.is(displayNameAfter(null, { name: 'wa-ada', source: 'inferred' }), 'wa-ada');
  t.is(displayNameAfter('Ada', undefined), 'Ada');
});

test('a display name has up to 255 characters', (t) => {
  const consumer_key = 'c-1';
  t.is(read({ consumer_key, consumer_display_name: 'x'.repeat(255) }).consumerDisplayName?.length, 255);
  for (const wrong of ['x'.repeat(256), '', 1, null, {}])
    refused(t, { consumer_key, consumer_display_name: wrong }, 'consumer_display_name');
});

test('a display name without a person has no effect and is listed', (t) => {
  const turn = read({ consumer_display_name: 'Ada' });
  t.is(turn.consumerDisplayName, undefined);
  t.deepEqual(turn.acceptedFields, ['message']);
  t.deepEqual(ignored(turn), { consumer_display_name: 'not_supported' });
});
