import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const script = fileURLToPath(new URL('../../../../scripts/fields.mjs', import.meta.url));

test('docs/fields.md lists every field with what becomes of it at each vendor', async (t) => {
  await t.notThrowsAsync(promisify(execFile)(process.execPath, [script, '--check']));
});
