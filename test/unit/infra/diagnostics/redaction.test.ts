import { inspect } from 'node:util';
import test from 'ava';
import fc from 'fast-check';
import {
  isSecretName,
  looksLikeCredential,
  redactDeep,
  redacted,
  redactText,
  redactValue,
} from '../../../../src/infra/diagnostics/index.js';

const jsonWebToken = ['eyJhbGciOiJIUzI1NiJ9', 'eyJzdWIiOiIxMjMifQ', 'c2lnbmF0dXJl'].join('.');
const pem = ['-----BEGIN PRIVATE KEY-----', 'MIIEvQIBADANBg', '-----END PRIVATE KEY-----'].join('\n');
const filler = 'Zx9'.repeat(12);

const prefixes =
  'sk- sk-ant-api03- sk-or-v1- sk_live_ svc_live_ svc_test_ svc_dev_ xai- AIza ghp_ gho_ ghs_ github_pat_ glpat- xoxb- xoxp- npm_ hf_ whsec_';
const credentials = prefixes.split(' ').map((prefix) => prefix + filler);
credentials.push(`AKIA${'A1B2'.repeat(4)}`, jsonWebToken, pem);

test('a name that contains a secret word is secret-like, in any case and with any separator', (t) => {
  const words = ['password', 'passwd', 'pwd', 'secret', 'token', 'authorization', 'credential', 'cookie'];
  const joined = ['apikey', 'api-key', 'api_key', 'API KEY', 'privatekey', 'private-key', 'PRIVATE_KEY'];
  for (const word of [...words, ...joined]) {
    for (const name of [word, word.toUpperCase(), `x-${word}`, `my_${word}_2`])
      t.true(isSecretName(name), name);
  }
  for (const name of ['email', 'key', 'api', 'pass', 'private', 'city', 'keyboard', '']) {
    t.false(isSecretName(name), name);
  }
});

test('a credential is recognised by its shape, alone and within a sentence', (t) => {
  for (const credential of credentials) {
    t.true(looksLikeCredential(credential), credential);
    t.true(looksLikeCredential(`please use ${credential} today`), credential);
  }
});

test('ordinary text has no credential shape', (t) => {
  const honest = [
    'task-force-of-seventeen',
    'sk-SK',
    'ask-me-anything-at-all',
    'desk-lamp-and-chairs',
    'AKIA',
    '2026-11-21T19:30:00Z',
    '550e8400-e29b-41d4-a716-446655440000',
    'eyJustKidding',
    'https://example.com/path?x=1',
    'the token was lost',
  ];
  for (const text of honest) t.false(looksLikeCredential(text), text);
});

test('a flat value is replaced whole by its name or its shape', (t) => {
  t.is(redactValue('password', 'x'), redacted);
  t.is(redactValue('max_tokens', 5), redacted);
  t.is(redactValue('note', `use ${credentials[0]}`), redacted);
  t.is(redactValue('note', 'hello'), 'hello');
  t.is(redactValue('count', 5), 5);
});

test('text keeps its words and loses its credentials', (t) => {
  for (const credential of credentials) {
    t.is(redactText(`before ${credential} after`), `before ${redacted} after`);
  }
  t.is(redactText('postgres://app:s3cr3t@db:5432/x failed'), `postgres://app:${redacted}@db:5432/x failed`);
  t.is(redactText('Authorization: Bearer abcdefghijklmnop1234'), `Authorization: ${redacted}`);
  t.is(redactText(`cut ${pem.slice(0, 40)}`), `cut ${redacted}`);
});

test('a deep copy hides secrets wherever they sit and keeps the rest', (t) => {
  const failure = new Error(`refused ${credentials[0]}`, { cause: { password: 'planted' } });
  const copy = redactDeep({
    user: 'ann',
    password: 'planted',
    usage: { total_tokens: 17, access_token: 'planted' },
    list: [{ api_key: ['planted'] }, jsonWebToken],
    map: new Map([['secret', 'planted']]),
    bytes: Buffer.from('planted'),
    when: new Date(0),
    big: 10n,
    failure,
  });
  const shown = inspect(copy, { depth: 20 });
  t.false(shown.includes('planted'), shown);
  t.false(shown.includes(filler), shown);
  t.like(copy, {
    user: 'ann',
    password: redacted,
    usage: { total_tokens: 17, access_token: redacted },
    list: [{ api_key: redacted }, redacted],
    bytes: '[7 bytes]',
    when: '1970-01-01T00:00:00.000Z',
    big: '10',
    failure: { name: 'Error', message: `refused ${redacted}`, cause: { password: redacted } },
  });
});

test('a deep copy is bounded in depth, breadth, values and text', (t) => {
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  t.is(JSON.stringify(redactDeep(circle)).split('self').length - 1, 8);
  t.is((redactDeep(Array.from({ length: 5_000 }, () => 1)) as unknown[]).length, 101);
  t.is((redactDeep('a'.repeat(100_000)) as string).length, 4_096 + '[cut]'.length);
  const wide = Array.from({ length: 100 }, () => Array.from({ length: 100 }, () => 'x'));
  t.true(JSON.stringify(redactDeep(wide)).length < 10_000);
});

test('a credential at the cut of a long text is not kept in part', (t) => {
  const credential = credentials[0] ?? '';
  for (const before of [4_080, 4_090, 4_590, 4_600]) {
    const copy = redactDeep(`${'-'.repeat(before)} ${credential}`) as string;
    t.false(copy.includes('Zx9'), String(before));
  }
  // The replacement shortens the text, and a token split by the reading bound becomes visible.
  const token = ['eyJhbGciOiJIUzI1NiJ9', 'Zx9'.repeat(100), 'Zx9'].join('.');
  const text = `${`${pem} `.repeat(60)}${'-'.repeat(4_400 - 60 * 69)} ${token}`;
  t.false((redactDeep(text) as string).includes('Zx9'));
});

test('a value that throws when read does not throw when copied', (t) => {
  const hostile = {
    get trap(): string {
      throw new Error('read');
    },
  };
  const liar = { toJSON: () => liar };
  t.is(redactDeep(hostile), '[unreadable]');
  t.is(redactDeep(liar), '[cut]');
});

test('any value is copied without an error and without its planted password', (t) => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true }), (value) => {
      const copy = redactDeep({ value, nested: { password: 'PLANTED-VALUE' } });
      t.false((JSON.stringify(copy) ?? '').includes('PLANTED-VALUE'));
    }),
  );
});

test('hostile text is checked in linear time', (t) => {
  const startedAt = process.cpuUsage();
  for (const piece of ['sk-', 'eyJ', '-----BEGIN A', 'a:', '://:', 'Bearer ', 'eyJa.', 'eyJ-']) {
    const text = piece.repeat(200_000 / piece.length);
    looksLikeCredential(text);
    redactText(text);
  }
  const { user } = process.cpuUsage(startedAt);
  t.true(user < 5_000_000, `took ${user} µs`);
});
