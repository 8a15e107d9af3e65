import test from 'ava';
import {
  DatabaseError,
  databaseErrorOf,
} from '../../../../src/automation/databases/connection/database-error.js';

function told(text: string, password: string): string {
  const error = databaseErrorOf(new Error(text), password);
  return error instanceof DatabaseError ? error.message : '';
}

test('no error shows a password that a server repeats, plain or in base64', (t) => {
  const password = 'open sesame/1';
  for (const form of [password, Buffer.from(password).toString('base64')]) {
    const shown = told(`you sent ${form}, which is wrong`, password);
    t.regex(shown, /you sent \[secret\], which is wrong/);
  }
  t.notRegex(told('you sent abc', 'abc'), /abc/);
});

test('a crafted password and error are compared quickly', (t) => {
  const half = 'a'.repeat(8_000);
  const startedAt = process.cpuUsage();
  told('a'.repeat(1_000_000), `${half}b${half}`);
  const { user } = process.cpuUsage(startedAt);
  t.true(user < 2_000_000, `took ${user} µs`);
});
