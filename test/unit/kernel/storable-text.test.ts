import test from 'ava';
import { storableText, storableValue } from '../../../src/kernel/storable-text.js';

test('NUL goes, and half a character becomes the replacement character', (t) => {
  t.is(storableText('a\0b'), 'ab');
  t.is(storableText('not 😀'.slice(0, 5)), 'not \uFFFD');
  t.is(storableText('Zürich 😀'), 'Zürich 😀');
});

test('in a value, names and texts at every depth', (t) => {
  t.deepEqual(storableValue({ 'a\0': ['\ud83d', { b: 'c\0', d: [1, null, true] }] }), {
    a: ['\uFFFD', { b: 'c', d: [1, null, true] }],
  });
});
