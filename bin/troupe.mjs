#!/usr/bin/env node
// The command line. In a checkout it builds first what is out of date; an installed package is built already.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

if (existsSync(fileURLToPath(new URL('../node_modules/typescript', import.meta.url)))) {
  const { build } = await import('../scripts/build.mjs');
  build();
}
const { run } = await import('../dist/src/command/main.js');
await run(process.argv.slice(2));
