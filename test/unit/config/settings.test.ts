import test from 'ava';
import { readSettings, SettingsError } from '../../../src/config/index.js';

test('an operator token is taken at any length, and left out where it is empty', (t) => {
  t.is(readSettings({ TROUPE_OPERATOR_TOKEN: 'op-token' }).operatorToken, 'op-token');
  t.is(readSettings({ TROUPE_OPERATOR_TOKEN: '' }).operatorToken, undefined);
  t.throws(() => readSettings({ TROUPE_OPERATOR_TOKEN: '  ' }), { instanceOf: SettingsError });
});
