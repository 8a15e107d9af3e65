import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { errorKinds } from '../../../src/kernel/errors.js';

const script = fileURLToPath(new URL('../../../../scripts/errors.mjs', import.meta.url));

test('docs/errors.md lists every error with its status, retry, meaning and what to do', async (t) => {
  await t.notThrowsAsync(promisify(execFile)(process.execPath, [script, '--check']));
});

for (const [code, { status, retry, message, advice }] of Object.entries(errorKinds)) {
  test(`${code} says what is wrong and what to do`, (t) => {
    t.regex(message, /^[A-Za-z].*\.$/);
    t.regex(advice, /^[A-Z].*\.$/);
    // A server's failure may pass; a request that is wrong stays wrong.
    if (status >= 500) t.is(retry, 'later');
    if (status >= 400 && status < 429) t.is(retry, 'never');
  });
}
