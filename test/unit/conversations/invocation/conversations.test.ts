import test from 'ava';
import fc from 'fast-check';
import {
  comparableIdentity,
  derivedSessionId,
  hiddenFromModel,
  isReservedName,
  normalIdentity,
  normalPhone,
} from '../../../../src/conversations/invocation/index.js';

const agent = '6f0c1c7e-9d3a-4b52-8a51-0f6f8f1d2c3b';
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('a derived session is the same for the same agent and values in every release', (t) => {
  const fields = [
    { name: 'customer', value: 'c-17' },
    { name: 'order', value: 42 },
  ];
  t.is(derivedSessionId(agent, fields), '7a8b9802-3649-805e-9bb3-167e171bfe87');
  t.is(derivedSessionId(agent.toUpperCase(), fields), derivedSessionId(agent, fields));
  t.is(
    derivedSessionId(agent, [fields[0]!, { name: 'order', value: '42' }]),
    derivedSessionId(agent, fields),
  );
});

test('a derived session depends on the agent, on each value and on their order', (t) => {
  const one = { name: 'a', value: 'x' };
  const two = { name: 'b', value: 'y' };
  const ids = [
    derivedSessionId(agent, [one, two]),
    derivedSessionId(agent, [two, one]),
    derivedSessionId(agent, [one]),
    derivedSessionId(agent, [one, { name: 'b', value: undefined }]),
    derivedSessionId('00000000-0000-4000-8000-000000000000', [one, two]),
  ];
  t.is(new Set(ids).size, ids.length);
});

test('lists of values that look alike when joined give different sessions', (t) => {
  fc.assert(
    fc.property(fc.array(fc.string(), { minLength: 1 }), fc.array(fc.string(), { minLength: 1 }), (a, b) => {
      const idOf = (values: string[]) =>
        derivedSessionId(
          agent,
          values.map((value) => ({ name: 'x', value })),
        );
      const [one, other] = [idOf(a), idOf(b)];
      if (one !== undefined) t.regex(one, uuid);
      return (
        one === undefined ||
        other === undefined ||
        (one === other) === (JSON.stringify(a) === JSON.stringify(b))
      );
    }),
  );
  t.pass();
});

test('a session cannot be derived if no field has a value', (t) => {
  t.is(derivedSessionId(agent, []), undefined);
  t.is(
    derivedSessionId(agent, [
      { name: 'a', value: null },
      { name: 'b', value: '' },
    ]),
    undefined,
  );
});

test('phone fields lead to one session however the number is written', (t) => {
  for (const name of ['phoneNumber', '_waId', 'From']) {
    const ids = ['whatsapp:+49 (171) 555-01', '+4917155501', '4917155501'].map((value) =>
      derivedSessionId(agent, [{ name, value }]),
    );
    t.is(new Set(ids).size, 1, name);
  }
  const others = ['+4917155501', '4917155501'].map((value) =>
    derivedSessionId(agent, [{ name: 'id', value }]),
  );
  t.is(new Set(others).size, 2, 'other fields are taken as they are');
});

test('phone numbers lose their channel and punctuation', (t) => {
  t.is(normalPhone('whatsapp:+5511999990000'), '+5511999990000');
  t.is(normalPhone('5511999990000'), '+5511999990000');
  t.is(normalPhone(' +1 (415) 867-5309 '), '+14158675309');
  t.is(normalPhone('unknown'), 'unknown');
});

test('identities have one spelling', (t) => {
  t.is(normalIdentity('Ada@Example.COM '), 'ada@example.com');
  t.is(normalIdentity('whatsapp:+49171555'), '+49171555');
  t.is(normalIdentity('+49 171 555'), '+49171555');
  t.is(normalIdentity('1234567'), '1234567', 'it may be a customer number');
  t.is(normalIdentity('customer:ab-12'), 'customer:ab-12');
  t.is(comparableIdentity('49 171 5550'), comparableIdentity('whatsapp:+491715550'));
  t.not(comparableIdentity('12-34'), comparableIdentity('1234'));
});

test('reserved names and tool-only names are recognised', (t) => {
  for (const name of ['tenant_id', '_webhookContext', '__proto__', 'constructor', 'tier', 'databaseConfig'])
    t.true(isReservedName(name), name);
  t.false(isReservedName('city'));
  for (const name of ['_waId', 'token', 'host', 'userName']) t.true(hiddenFromModel(name), name);
  t.false(hiddenFromModel('username'));
});
