import test from 'ava';
import { readSettings, SettingsError } from '../../../../src/kernel/config/index.js';

const long = 'k'.repeat(32);

test('an operator token has at least 32 characters, and an empty one counts as unset', (t) => {
  t.is(readSettings({ TROUPE_OPERATOR_TOKEN: long }).operatorToken, long);
  t.is(readSettings({ TROUPE_OPERATOR_TOKEN: '' }).operatorToken, undefined);
  for (const token of [long.slice(1), `${long.slice(1)} `, 'op-token', '  ']) {
    t.throws(() => readSettings({ TROUPE_OPERATOR_TOKEN: token }), { instanceOf: SettingsError }, token);
  }
});

test('a cluster secret has at least 32 characters, because every dialed process can guess offline', (t) => {
  t.is(readSettings({ TROUPE_CLUSTER_SECRET: long }).clusterSecret, long);
  t.throws(() => readSettings({ TROUPE_CLUSTER_SECRET: long.slice(1) }), {
    message: /TROUPE_CLUSTER_SECRET must have at least 32 characters, but has 31/,
  });
});

test('the refusal of an operator token names its variable, its length and how to create one, and never shows it', (t) => {
  const refusal = t.throws(() => readSettings({ TROUPE_OPERATOR_TOKEN: 'planted-short' }));
  t.regex(refusal?.message ?? '', /TROUPE_OPERATOR_TOKEN must have at least 32 characters, but has 13/);
  t.regex(refusal?.message ?? '', /TROUPE_OPERATOR_TOKEN=\$\(openssl rand -hex 32\)/);
  t.false(refusal?.message.includes('planted'));
  const spaced = `${long} ${long}`;
  t.throws(() => readSettings({ TROUPE_OPERATOR_TOKEN: spaced }), { message: /must not contain spaces/ });
});

test("a mistyped setting stops the start and names the closest one; other programs' settings are ignored", (t) => {
  const refusal = t.throws(
    () => readSettings({ TROUPE_HTP_PORT: '8080', TROUPE_OPERATOR_TOKEN_FIEL: '/none' }),
    {
      instanceOf: SettingsError,
    },
  );
  t.regex(refusal?.message ?? '', /TROUPE_HTP_PORT is not a setting\. Did you mean TROUPE_HTTP_PORT\?/);
  t.regex(refusal?.message ?? '', /Did you mean TROUPE_OPERATOR_TOKEN_FILE\?/);
  const ofKubernetes = {
    TROUPE_PORT: 'tcp://10.0.0.1:8080',
    TROUPE_SERVICE_HOST: '10.0.0.1',
    TROUPE_TEST_RUN: 'a',
    // Short names are near to nothing.
    TROUPE_DIR: '/opt/troupe',
    TROUPE_URL: 'http://127.0.0.1:8080',
    TROUPE_KEY: 'a',
    TROUPE_BIN: 'a',
  };
  t.notThrows(() => readSettings({ ...ofKubernetes, TROUPE_PORT_8080_TCP_ADDR: '10.0.0.1' }));
});
