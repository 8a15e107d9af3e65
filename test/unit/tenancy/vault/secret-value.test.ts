import { format, inspect } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import test from 'ava';
import { pino } from 'pino';
import { allowsHost, SecretValue } from '../../../../src/tenancy/vault/index.js';

const planted = 'planted-7f3a';

test('only reveal returns the value of a secret', (t) => {
  t.is(new SecretValue(planted).reveal(), planted);
});

test('no way of printing shows a secret', (t) => {
  const secret = new SecretValue(planted);
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  log.info({ secret, nested: { list: [secret] } }, 'using %s', secret);
  log.error(new Error(`failed with ${String(secret)}`, { cause: secret }));
  const printed = [
    String(secret),
    secret.toString(),
    ''.concat(Reflect.apply(String, undefined, [secret])),
    JSON.stringify({ secret }),
    inspect(secret),
    inspect({ secret }, { showHidden: true, depth: 9, getters: true, customInspect: false }),
    format('%s %o %j', secret, secret, secret),
    JSON.stringify(Object.assign({}, secret)),
    JSON.stringify(Object.entries(secret)),
    inspect(structuredClone(secret)),
    inspect(deserialize(serialize(secret))),
    JSON.stringify(Reflect.ownKeys(secret)),
    ...lines,
  ];
  for (const text of printed) t.false(text.includes(planted), text);
  t.is(String(secret), '[secret]');
  t.is(JSON.stringify({ secret }), '{"secret":"[secret]"}');
  t.is(inspect(secret), '[secret]');
  t.deepEqual(Object.assign({}, secret), { printed: '[secret]' });
  t.deepEqual(Object.assign({}, structuredClone(secret)), { printed: '[secret]' });
});

test('a secret compares by value', (t) => {
  const secret = new SecretValue(planted);
  t.true(secret.equals(planted));
  t.false(secret.equals(`${planted}x`));
  t.false(secret.equals(''));
});

test('a secret with a list of hosts is limited to them, one without a list to none', (t) => {
  const hosts = ['api.example.com', '*.internal.example', '10.1.2.3', '2001:db8::1'];
  for (const host of [
    'api.example.com',
    'API.example.com',
    'api.example.com.',
    'a.internal.example',
    '10.1.2.3',
  ]) {
    t.true(allowsHost(hosts, host), host);
  }
  t.true(allowsHost(hosts, '[2001:DB8::1]'));
  const others = ['example.com', 'evil-api.example.com', 'api.example.com.evil.net', 'internal.example', ''];
  for (const host of [
    ...others,
    'evilinternal.example',
    '10.1.2.30',
    'api.example.com:8443',
    'x@api.example.com',
  ]) {
    t.false(allowsHost(hosts, host), host);
  }
  t.false(allowsHost(null, 'api.example.com'));
  t.false(allowsHost([], 'api.example.com'));
});
