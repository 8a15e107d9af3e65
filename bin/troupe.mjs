#!/usr/bin/env node
// The command line. In a checkout it builds first what is out of date; an installed package is built already.
import './supported-node.mjs';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// The HTTP server reads this when it is loaded: room for long access tokens, where its own default is 4 KB.
process.env.UWS_HTTP_MAX_HEADERS_SIZE = process.env.UWS_HTTP_MAX_HEADERS_SIZE || '16384';

if (existsSync(fileURLToPath(new URL('../node_modules/typescript', import.meta.url)))) {
  const { build } = await import('../scripts/build.mjs');
  build();
}
const { run } = await import('../dist/src/app/command/main.js');
await run(process.argv.slice(2));
