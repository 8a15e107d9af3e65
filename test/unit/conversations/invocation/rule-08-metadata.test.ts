import test from 'ava';
import { read, refused, person } from './reading.js';

const keys = (count: number, value: unknown = 1) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value]));

test('metadata accepts flat scalars from any credential', (t) => {
  const turn = read({ metadata: { trace_id: 'tr-1', n: 1, yes: true, none: null } }, person);
  t.deepEqual(turn.metadata, { trace_id: 'tr-1', n: 1, yes: true });
  t.is(turn.traceId, 'tr-1');
  t.deepEqual(turn.acceptedFields, ['message', 'metadata']);
  refused(t, { metadata: { a: {} } }, 'metadata.a');
  refused(t, { metadata: { a: [] } }, 'metadata.a');
  for (const wrong of [null, [], 'x', 1]) refused(t, { metadata: wrong }, 'metadata');
});

test('at most 20 keys', (t) => {
  t.is(Object.keys(read({ metadata: keys(20) }).metadata).length, 20);
  refused(t, { metadata: keys(21) }, 'metadata');
});

test('key names have 1 to 64 letters, digits, _, . or -', (t) => {
  t.notThrows(() => read({ metadata: { ['a'.repeat(64)]: 1, 'A.b-c_9': 1 } }));
  for (const wrong of ['a'.repeat(65), 'a b', 'ä', '', 'a$'])
    refused(t, { metadata: { [wrong]: 1 } }, 'metadata');
});

test('text values have at most 256 characters', (t) => {
  t.notThrows(() => read({ metadata: { a: 'x'.repeat(256) } }));
  refused(t, { metadata: { a: 'x'.repeat(257) } }, 'metadata.a');
});

test('at most 4 KB in total as compact JSON in UTF-8', (t) => {
  // 20 keys of 6 bytes of frame and name each: ["k0":"",] and so on, closed by the braces.
  const frame = Buffer.byteLength(JSON.stringify(keys(20, '')));
  const full = { ...keys(19, 'x'.repeat(200)), k19: 'x'.repeat(4_096 - frame - 19 * 200) };
  t.is(Buffer.byteLength(JSON.stringify(full)), 4_096);
  t.notThrows(() => read({ metadata: full }));
  refused(t, { metadata: { ...full, k19: `${full.k19}x` } }, 'metadata');
});

test('secrets are redacted in what is stored, and a redacted trace id finds nothing', (t) => {
  const turn = read({ metadata: { api_key: 'x', note: 'ghp_abcdefghijk', order: 'o-1' } });
  t.deepEqual(turn.metadata, { api_key: '[REDACTED]', note: '[REDACTED]', order: 'o-1' });
  t.is(read({ metadata: { trace_id: 'sk-abcdefghijkl' } }).traceId, undefined);
  t.is(read({ metadata: { trace_id: 17 } }).traceId, '17');
  t.is(turn.traceId, undefined);
});

test('names reserved in the context are ordinary in metadata', (t) => {
  t.deepEqual(read({ metadata: { source: 'crm' } }).metadata, { source: 'crm' });
});
