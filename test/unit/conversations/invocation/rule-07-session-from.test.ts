import test from 'ava';
import { derivedSessionId } from '../../../../src/conversations/invocation/index.js';
import { read, refused } from './reading.js';

const agent = '6f0c1c7e-9d3a-4b52-8a51-0f6f8f1d2c3b';
const idOf = (body: Record<string, unknown>) => derivedSessionId(agent, read(body).derivedFrom ?? []);

test('a session is derived from named fields of context and bindings', (t) => {
  const turn = read({
    context: { customer: 'c-17' },
    bindings: { order: 42 },
    session_from: ['customer', 'order'],
  });
  t.deepEqual(turn.derivedFrom, [
    { name: 'customer', value: 'c-17' },
    { name: 'order', value: 42 },
  ]);
  t.true(turn.acceptedFields.includes('session_from'));
  t.is(derivedSessionId(agent, turn.derivedFrom ?? []), '7a8b9802-3649-805e-9bb3-167e171bfe87');
});

test('it takes 1 to 5 names', (t) => {
  const context = { a: 1 };
  t.notThrows(() => read({ context, session_from: ['a', 'b', 'c', 'd', 'e'] }));
  refused(t, { context, session_from: ['a', 'b', 'c', 'd', 'e', 'f'] }, 'session_from');
  for (const wrong of [[], 'a', {}, null, [1], [''], [null]])
    refused(t, { context, session_from: wrong }, 'session_from');
});

test('the order of the fields matters', (t) => {
  const context = { a: 'x', b: 'y' };
  t.not(idOf({ context, session_from: ['a', 'b'] }), idOf({ context, session_from: ['b', 'a'] }));
});

test('phone fields are normalised first', (t) => {
  for (const name of ['phoneNumber', '_waId', 'From']) {
    const ids = ['whatsapp:+49 171 555-01', '+4917155501', 4917155501].map((value) =>
      idOf({ context: { [name]: value }, session_from: [name] }),
    );
    t.is(new Set(ids).size, 1, name);
  }
});

test('two mail addresses in a phone field are two sessions, whatever digits they contain', (t) => {
  const ids = ['ada1@example.org', 'bob1@example.org'].map((From) =>
    idOf({ context: { From }, session_from: ['From'] }),
  );
  t.is(new Set(ids).size, 2);
});

test('session_from beside session_id is refused', (t) => {
  const session_id = '7a8b9802-3649-405e-9bb3-167e171bfe87';
  refused(t, { session_id, context: { a: 1 }, session_from: ['a'] }, 'session_from');
});

test('a missing field counts as empty, and a set of only empty fields is refused', (t) => {
  t.is(
    idOf({ context: { a: 'x' }, session_from: ['a', 'gone'] }),
    idOf({ context: { a: 'x', gone: null }, session_from: ['a', 'gone'] }),
  );
  refused(t, { context: { a: 1 }, session_from: ['b'] }, 'session_from');
  refused(t, { context: { a: '', b: null }, session_from: ['a', 'b'] }, 'session_from');
  refused(t, { session_from: ['a'] }, 'session_from');
  refused(t, { context: { tier: 'gold' }, session_from: ['tier'] }, 'session_from');
  refused(t, { context: { a: 1 }, session_from: ['toString', 'hasOwnProperty'] }, 'session_from');
  t.notThrows(() => read({ context: { a: 0, b: false }, session_from: ['a', 'b'] }));
});

test('a field whose value was redacted is refused', (t) => {
  refused(t, { context: { password: 'x', a: 1 }, session_from: ['a', 'password'] }, 'session_from');
  refused(t, { context: { a: 'sk-abcdefghijkl' }, session_from: ['a'] }, 'session_from');
});

test('if a name is in both, the value of the bindings counts', (t) => {
  t.is(
    idOf({ context: { a: 'x' }, bindings: { a: 'y' }, session_from: ['a'] }),
    idOf({ context: { a: 'y' }, session_from: ['a'] }),
  );
});

test('a session_id is a UUID', (t) => {
  const id = '7A8B9802-3649-405E-9BB3-167E171BFE87';
  t.is(read({ session_id: id }).sessionId, id.toLowerCase());
  for (const wrong of ['x', '', 7, null, {}, `${id}0`]) refused(t, { session_id: wrong }, 'session_id');
});
