import test from 'ava';
import fc from 'fast-check';
import { hideIn, redacted, secretHider } from '../../../../src/infra/diagnostics/index.js';

const hide = (text: string, ...secrets: string[]): string => secretHider(secrets)(text);

test('a secret is removed from a text in the forms in which servers repeat it', (t) => {
  const secret = 'pä"ss/w+rd?<&=€ 𝕏';
  const json = JSON.stringify(secret).slice(1, -1);
  const ascii = json.replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const base64 = Buffer.from(secret).toString('base64');
  const forms = [
    secret,
    json,
    ascii.replaceAll('𝕏', ''),
    json.replaceAll('/', String.raw`\/`),
    json.replaceAll('+', String.raw`\u002B`).replaceAll('<', String.raw`\u003C`),
    encodeURIComponent(secret),
    encodeURIComponent(secret).toLowerCase().replaceAll('%f0%9d%95%8f', '%F0%9D%95%8f'),
    new URLSearchParams({ v: secret }).toString().slice(2),
    base64,
    base64.replace(/=+$/, ''),
    base64.replaceAll('/', String.raw`\/`),
    encodeURIComponent(base64),
    Buffer.from(secret).toString('base64url'),
  ];
  for (const form of forms) {
    const left = hide(`before ${form} after`, secret);
    t.true(left.startsWith(`before ${redacted}`) && left.endsWith(' after'), `${form} gives ${left}`);
    t.true(left.length <= `before ${redacted}%3D%3D after`.length, left);
  }
});

test('of a user and a password only a long enough password is hidden separately', (t) => {
  t.is(
    hide('wrong password hunter2hunter2 of ada', 'ada:hunter2hunter2'),
    `wrong password ${redacted} of ada`,
  );
  t.is(hide('it is true', 'a:true'), 'it is true');
});

test('overlapping and repeated secrets leave nothing of themselves', (t) => {
  t.is(hide('-abcdabcd-', 'abcd'), `-${redacted}${redacted}-`);
  t.is(hide('-abababab-', 'ababab'), `-${redacted}-`);
  t.is(hide('-secret-key-two-', 'secret-key', 'key-two'), `-${redacted}-`);
  t.is(hide('-secret-', 'secret', 'secret-longer'), `-${redacted}-`);
  t.is(hide('abc', 'abc'), 'abc', 'three letters occur by chance');
  t.is(hide('', 'abcd'), '');
});

test('only secrets are removed, whatever the text', (t) => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string({ minLength: 4, unit: 'grapheme' }), (a, b, secret) => {
      const text = `${a}${secret}${b}`;
      const left = hide(text, secret);
      return left.includes(redacted) && (a.includes(secret) || left.startsWith(a.slice(0, -secret.length)));
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', '%', '\\', 'u', '4', '1', '+') }), (text) => {
      return hide(text, 'zzzz-not-there') === text;
    }),
  );
  t.pass();
});

test('matching a crafted secret and answer takes time linear in both', (t) => {
  const half = 'a'.repeat(8_000);
  for (const secret of [`${half}b${half}`, `b${half}${half}`, `${half}${half}b`]) {
    const startedAt = process.cpuUsage();
    t.is(hide('a'.repeat(1_000_000), secret).length, 1_000_000);
    const { user } = process.cpuUsage(startedAt);
    t.true(user < 2_000_000, `took ${user} µs`);
  }
});

test('a JSON value keeps its shape, without secrets in texts, names and numbers', (t) => {
  const value = { 'x-key-one': ['key-one', 12_345_678, 5, null, true], deep: { said: 'Bearer key-one' } };
  t.deepEqual(hideIn(value, secretHider(['key-one', '12345678'])), {
    [`x-${redacted}`]: [redacted, redacted, 5, null, true],
    deep: { said: `Bearer ${redacted}` },
  });
});
