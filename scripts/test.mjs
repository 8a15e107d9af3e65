// Builds, provides what the tests need, and runs ava with whatever was asked for.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { provideDatabase } from './test-database.mjs';

build();
const run = randomBytes(4).toString('hex');
const ava = fileURLToPath(new URL('../node_modules/ava/entrypoints/cli.mjs', import.meta.url));

// Ctrl-C reaches ava as well; this process stays until ava is gone and what it provided is taken away.
let child;
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    interrupted = true;
    if (signal !== 'SIGINT') child?.kill(signal);
  });
}

const database = await provideDatabase(run);
let status = 1;
try {
  if (!interrupted) status = await runAva({ ...database.environment, TROUPE_TEST_RUN: run });
} finally {
  await database.stop();
}
process.exit(interrupted ? 130 : status);

function runAva(environment) {
  child = spawn(process.execPath, [ava, ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  });
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
}
