import test from 'ava';
import { readSettings, SettingsError } from '../../../../src/kernel/config/index.js';

const long = 'k'.repeat(32);

test('an operator token has at least 32 characters, and is left out where it is empty', (t) => {
  t.is(readSettings({ TROUPE_OPERATOR_TOKEN: long }).operatorToken, long);
  t.is(readSettings({ TROUPE_OPERATOR_TOKEN: '' }).operatorToken, undefined);
  for (const token of [long.slice(1), `${long.slice(1)} `, 'op-token', '  ']) {
    t.throws(() => readSettings({ TROUPE_OPERATOR_TOKEN: token }), { instanceOf: SettingsError }, token);
  }
});

test('a cluster secret has at least 32 characters, since every process that a node dials can guess offline', (t) => {
  t.is(readSettings({ TROUPE_CLUSTER_SECRET: long }).clusterSecret, long);
  t.throws(() => readSettings({ TROUPE_CLUSTER_SECRET: long.slice(1) }), {
    message: /TROUPE_CLUSTER_SECRET must have at least 32 characters and has 31/,
  });
});

test('the refusal of an operator token names its variable, its length and how to make one, and never shows it', (t) => {
  const refusal = t.throws(() => readSettings({ TROUPE_OPERATOR_TOKEN: 'planted-short' }));
  t.regex(refusal?.message ?? '', /TROUPE_OPERATOR_TOKEN must have at least 32 characters and has 13/);
  t.regex(refusal?.message ?? '', /TROUPE_OPERATOR_TOKEN=\$\(openssl rand -hex 32\)/);
  t.false(refusal?.message.includes('planted'));
  const spaced = `${long} ${long}`;
  t.throws(() => readSettings({ TROUPE_OPERATOR_TOKEN: spaced }), { message: /must not hold spaces/ });
});
