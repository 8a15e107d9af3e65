// Loaded by ava in each process that runs a test file: notes how long the file took, for the list of scripts/test.mjs.
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ava from 'ava';

const root = fileURLToPath(new URL('..', import.meta.url));
const noted = process.env.TROUPE_TEST_TIMES;
if (noted !== undefined) {
  process.on('exit', () => {
    const file = relative(root, fileURLToPath(ava.meta.file));
    appendFileSync(noted, `${JSON.stringify({ file, ms: Math.round(performance.now()) })}\n`);
  });
}
