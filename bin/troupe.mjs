#!/usr/bin/env node
// The command line. In a checkout it first builds what is out of date; an installed package is already built.
import './supported-node.mjs';
import './header-size.mjs';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// The MCP server over pipes starts with each client: it does not wait for a look at all sources, and a build would write to
// its client. `npm ci` has built it.
if (
  process.argv[2] !== 'mcp' &&
  existsSync(fileURLToPath(new URL('../node_modules/typescript', import.meta.url)))
) {
  const { build } = await import('../scripts/build.mjs');
  await build();
}
const { run } = await import('../dist/src/app/command/main.js');
await run(process.argv.slice(2));
